"""Write the pages of finished runs again: `structdep report`, from a checkout.

python experiments/report.py runs/got-mh4-hybrid-hinge-1
"""

if __name__ == "__main__":
    from structdep_parser.cli.command_line import script

    script("report")
