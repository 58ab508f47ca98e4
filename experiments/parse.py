"""Parse CoNLL-U or tokenized text: `structdep parse`, from a checkout.

python experiments/parse.py runs/got-mh4-hybrid-hinge-1 < in.conllu > out.conllu
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["parse", *sys.argv[1:]]))
