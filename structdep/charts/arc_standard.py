"""Arc-standard: projective trees, O(n^4) (Kuhlmann, Gómez-Rodríguez, Satta 2011), with the hook trick (Eisner, Satta 1999)."""
