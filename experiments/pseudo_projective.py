"""How many trees come back from pseudo-projective ones (Nivre, Nilsson 2005).

python experiments/pseudo_projective.py --lang got hu
"""

import sys
from collections.abc import Sequence
from typing import get_args

from rich.console import Console

from experiments.lifting import decoded, encoded
from experiments.sentences import Sentence
from experiments.survey import Row, command_line, report_errors, table, treebanks, write_csv
from structdep.pseudo_projective import Scheme
from structdep.trees import is_projective

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)


def restoration(sentences: Sequence[Sentence], scheme: Scheme) -> dict[str, int]:
    """Counts: of trees that are not projective, of lifted words, of relations, and of what comes back.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from experiments.demo_treebank import write_demo_treebank
        >>> from experiments.treebank import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> restoration(dev, "head")
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


def rates(counts: dict[str, int]) -> dict[str, float]:
    """Per cent of all trees and heads, and of the trees and heads that were changed, that come back."""
    shares = {
        "trees": ("other trees", "sentences"),
        "heads": ("other heads", "words"),
        "of changed trees": ("other trees", "not projective"),
        "of lifted heads": ("other heads", "lifted"),
    }
    return {name: 100 * (1 - counts[other] / max(counts[whole], 1)) for name, (other, whole) in shares.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Encode, decode and compare, for each scheme; print percentages, and write them with the counts as CSV."""
    options = command_line("pseudo_projective.py", "Encode trees as projective ones, and decode them.").parse_args(
        arguments
    )
    rows: list[Row] = []
    try:
        for lang, sentences in treebanks(options):
            for scheme in SCHEMES:
                counts = restoration(sentences, scheme)
                rows.append({"treebank": lang, "scheme": scheme, **counts, **rates(counts)})
    except (OSError, ValueError) as error:
        return report_errors("pseudo_projective.py", error)
    write_csv(options.out / f"restoration-{options.split}.csv", rows)
    Console().print(table(f"restored from the pseudo-projective trees of {options.split}", rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
