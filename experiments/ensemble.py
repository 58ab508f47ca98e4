"""Evaluate several parsers together: `structdep ensemble`, from a checkout.

python experiments/ensemble.py runs/got-mst-nll-1 runs/got-eisner-nll-1
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("ensemble")
