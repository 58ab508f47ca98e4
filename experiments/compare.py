"""Compare the trees of two parsers: `structdep compare`, from a checkout.

python experiments/compare.py A.conllu B.conllu GOLD.conllu
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("compare")
