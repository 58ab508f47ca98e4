"""Draw the trees of a CoNLL-U file: `structdep draw`, from a checkout.

python experiments/draw.py dev.conllu --gold got-ud-dev.conllu --sentences 3 17-20
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["draw", *sys.argv[1:]]))
