"""Train and evaluate a parser: `structdep train`, from a checkout.

python experiments/ud.py --lang got --parser mh4-hybrid
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["train", *sys.argv[1:]]))
