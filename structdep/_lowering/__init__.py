"""From the rules of a system to the plan of its chart: what is stored, and what is computed when."""
