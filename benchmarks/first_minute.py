"""`python -m benchmarks.first_minute`: seconds of the first calls on a machine with a wheel and no compiler.

Builds a wheel and installs it into a fresh environment. Each row is the median over processes that begin with empty
caches and without a PATH.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent

SECONDS = (
    "import time; start = time.perf_counter()\n{}\nstart = time.perf_counter()\n{}\nprint(time.perf_counter() - start)"
)
SCORES = "import jax, structdep as sd\nscores = jax.random.normal(jax.random.key(0), (8, 13, 13)).block_until_ready()"
PROGRAMS = {
    "import jax": SECONDS.format("", "import jax"),
    "import structdep, after jax": SECONDS.format("import jax", "import structdep"),
    "sd.argmax(mhk(4)), first shape": SECONDS.format(SCORES, "sd.argmax(sd.charts.mhk(4), scores).block_until_ready()"),
    "sd.marginals(mh4_trees()), first shape": SECONDS.format(
        SCORES, "sd.marginals(sd.charts.mh4_trees(), scores).block_until_ready()"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="a wheel of structdep (default: build one)")
    parser.add_argument("--runs", type=int, default=5, help="processes a row (default: 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = installed(options.wheel or wheel(Path(folder)), Path(folder) / "venv")
        programs = PROGRAMS | {"README's first example, whole process": first_example()}
        print("| what | median s |\n|---|--:|")
        for what, program in programs.items():
            print(f"| {what} | {median(seconds(python, program) for _ in range(options.runs)):.2f} |", flush=True)


def wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    return next(folder.glob("structdep-*.whl"))


def installed(package: Path, environment: Path) -> Path:
    """The Python of a new environment that has the package, in the versions that the tests use."""
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-c", constraints, str(package)], check=True)
    return python


def first_example() -> str:
    """The lines after >>> of the first Python block of README."""
    block = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    return "\n".join(line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ")))


def seconds(python: Path, program: str) -> float:
    """Those that the program prints, or those of its process."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        run = subprocess.run([python, "-c", program], env={"HOME": home}, check=True, capture_output=True, text=True)
        return float(run.stdout) if run.stdout else time.perf_counter() - start


if __name__ == "__main__":
    main()
