"""Parse CoNLL-U or tokenized text: `structdep parse`, from a checkout.

python experiments/parse.py runs/got-mh4-hybrid-hinge-1 < in.conllu > out.conllu
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("parse")
