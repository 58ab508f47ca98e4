"""Count the trees of each class in treebanks: `structdep coverage`, from a checkout.

python experiments/coverage.py --lang got hu
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("coverage")
