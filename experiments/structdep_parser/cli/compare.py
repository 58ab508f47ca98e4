"""`structdep compare`: two parsers' trees compared with the gold standard."""

from pathlib import Path

from structdep_parser.cli.options import Arguments, argument_parser, command

EPILOG = """\
scores follow the CoNLL 2018 shared task: relations are compared without subtypes, and CLAS counts only content words.
CLAS is an F1 score, over the content words of both files; "only A right" and "only B right" count gold content words,
so that their difference may have another sign than B - A.
The interval and the first p are those of a paired bootstrap over sentences: --samples times, it draws as many sentences
with replacement and computes the difference. McNemar's test is exact; it compares the numbers of words that only one of
the parsers has right.
Of several seeds (--more-a, --more-b), scores are of all together. The bootstrap then draws seeds, too: a drawn sentence
counts with its trees of all seeds that are drawn, and a drawn seed with both parsers. McNemar's test is left out.
"""


@command("structdep compare")
def main(arguments: Arguments = None) -> int:
    made = argument_parser("structdep compare", "Compare the trees of two parsers with the gold standard.", EPILOG)
    for name in ("a", "b", "gold"):
        made.add_argument(name, type=Path, metavar=f"{name.upper()}.conllu")
    for name in ("a", "b"):
        told = f"trees of further seeds of {name.upper()}"
        made.add_argument(f"--more-{name}", type=Path, nargs="+", default=[], metavar="CONLLU", help=told)
    made.add_argument(
        "--samples", type=int, default=10_000, help="number of samples of the bootstrap; default: %(default)s"
    )
    made.add_argument("--seed", type=int, default=1, help="of the bootstrap; default: %(default)s")
    options = made.parse_args(arguments)

    from structdep_parser.console import print_table
    from structdep_parser.data.conllu import read
    from structdep_parser.evaluation.comparison import check_words, compare

    paths_a, paths_b, gold = [options.a, *options.more_a], [options.b, *options.more_b], read(options.gold)
    a, b = (list(map(read, paths)) for paths in (paths_a, paths_b))
    for path, sentences in zip((*paths_a, *paths_b), (*a, *b), strict=True):
        check_words(path, sentences, options.gold, gold)
    found = compare(a, b, gold, options.samples, options.seed)
    header = ("score", "A", "B", "B - A", "95 % interval", "p", "only A right", "only B right", "p (McNemar)")
    title = f"A: {', '.join(map(str, paths_a))}\nB: {', '.join(map(str, paths_b))}\ngold: {options.gold}"
    print_table(title, header, [(metric, *difference.cells()) for metric, difference in found.items()])
    return 0
