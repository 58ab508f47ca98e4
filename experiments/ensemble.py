"""Evaluate several parsers together: `structdep ensemble`, from a checkout.

python experiments/ensemble.py runs/got-mst-nll-1 runs/got-eisner-nll-1
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["ensemble", *sys.argv[1:]]))
