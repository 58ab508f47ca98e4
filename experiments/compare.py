"""Compare the trees of two parsers: `structdep compare`, from a checkout.

python experiments/compare.py A.conllu B.conllu GOLD.conllu
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["compare", *sys.argv[1:]]))
