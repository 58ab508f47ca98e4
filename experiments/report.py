"""Write the pages of finished runs again: `structdep report`, from a checkout.

python experiments/report.py runs/got-mh4-hybrid-hinge-1
"""

import sys

if __name__ == "__main__":
    from structdep_parser.cli.command_line import main

    sys.path.append(sys.path.pop(0))  # the commands in this folder must not hide installed modules of the same name
    sys.exit(main(["report", *sys.argv[1:]]))
