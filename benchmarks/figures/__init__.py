"""The pictures of docs/images, one kind a file: `python -m benchmarks.figures` draws them all."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
