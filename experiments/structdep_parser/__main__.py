"""`python -m structdep_parser`: the command `structdep`."""

import sys

from structdep_parser.cli.command_line import main

if __name__ == "__main__":
    sys.exit(main())
