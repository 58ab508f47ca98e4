"""How many trees come back from pseudo-projective ones (Nivre, Nilsson 2005).

python experiments/pseudo_projective.py --lang got hu
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from structdep.trees import is_projective
from structdep_parser.choices import SCHEMES, Scheme
from structdep_parser.cli.options import Arguments, command
from structdep_parser.cli.treebank_command import command_line, count_in_treebanks
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.pseudo_projective import decoded, encoded
from structdep_parser.tables import Tables

SHARES = {
    "trees": ("other trees", "sentences"),
    "heads": ("other heads", "words"),
    "of changed trees": ("other trees", "not projective"),
    "of lifted heads": ("other heads", "lifted"),
}
"""What comes back, in per cent: the counts of what does not, and of all."""


def restoration(sentences: Sequence[Sentence], scheme: Scheme) -> dict[str, int]:
    """Counts: of trees that are not projective, of lifted words, of relations then, and of what does not come back.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.conllu import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> counts = restoration(dev, "head")
        >>> counts["not projective"], counts["lifted"], counts["other trees"]
        (29, 29, 0)
    """
    there = encoded(sentences, scheme)
    heads, _ = decoded([s.heads for s in there], [s.deprels for s in there], scheme)
    wrong = [int((tree != s.heads).sum()) for s, tree in zip(sentences, heads, strict=True)]
    return {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "not projective": sum(not is_projective(s.heads) for s in sentences),
        "lifted": sum(int((s.heads != e.heads).sum()) for s, e in zip(sentences, there, strict=True)),
        "relations": len({deprel for s in there for deprel in s.deprels}),
        "other trees": sum(map(bool, wrong)),
        "other heads": sum(wrong),
    }


def count(treebank: str, sentences: list[Sentence], folder: Path) -> Tables:
    """A row for each scheme: percentages, and the counts that they are of."""
    found: Tables = {"restored": [], "counts": []}
    for scheme in SCHEMES:
        counts, names = restoration(sentences, scheme), {"treebank": treebank, "scheme": scheme}
        shares = {name: 100 * (1 - counts[other] / max(counts[of], 1)) for name, (other, of) in SHARES.items()}
        found["restored"].append({**names, "relations": counts["relations"], **shares})
        found["counts"].append({**names, **counts})
    return found


@command("pseudo_projective.py")
def main(arguments: Arguments = None) -> int:
    description = "Make trees projective by each scheme, decode them, and compare."
    return count_in_treebanks(command_line("pseudo_projective.py", description).parse_args(arguments), count)


if __name__ == "__main__":
    sys.exit(main())
