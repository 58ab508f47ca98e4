"""Speed, compile time and memory of the charts, by one command: `python -m benchmarks`."""
