"""Train and evaluate a parser: `structdep train`, from a checkout.

python experiments/ud.py --lang got --parser mh4-hybrid
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("train")
