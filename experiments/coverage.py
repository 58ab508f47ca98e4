"""Count the trees of each class in treebanks: `structdep coverage`, from a checkout.

python experiments/coverage.py --lang got hu
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["coverage", *sys.argv[1:]]))
