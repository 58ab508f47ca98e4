"""`python -m structdep doctor`: checks the installation."""

import argparse
import sys

from structdep import _doctor


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m structdep", description="structdep: exact parsing in JAX")
    commands = parser.add_subparsers(dest="command", required=True)
    checks = "print versions, devices and engines, and check charts against enumeration"
    commands.add_parser("doctor", help=checks, description=checks)
    parser.parse_args()
    return _doctor.main()


if __name__ == "__main__":
    sys.exit(main())
