"""Draw the trees of a CoNLL-U file: `structdep draw`, from a checkout.

python experiments/draw.py dev.conllu --gold got-ud-dev.conllu --sentences 3 17-20
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("draw")
