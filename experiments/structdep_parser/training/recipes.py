"""How the parsers of table 4 reach what was published: each begins with what a parser of all trees has learned.

docs/accuracy.md has the figures.
"""

from pathlib import Path

RICH = ("layers=3", "tag_weight=0.6", "tag_features=256", "graft=0.35", "max_shapes=4")
"""More layers and more of tags than usual, and grafts for a third of the subtrees."""
EPOCHS = {"got": (40, 20), "hu": (70, 30)}
"""Of the first parser, and of those that begin with it: more where there are fewer sentences."""
USUAL = (50, 25)
FEW = {"1ec": 5, "1ec1": 5}
"""Epochs of parsers whose charts are slow."""


def first(lang: str) -> tuple[str, ...]:
    """Arguments of structdep train for the parser that learns first.

    Example:
        >>> print(*first("got"))
        --parser mst2-mean-field --loss nll --epochs 40 --set layers=3 tag_weight=0.6 tag_features=256 graft=0.35 max_shapes=4
    """  # noqa: E501
    epochs, _ = EPOCHS.get(lang, USUAL)
    return "--parser", "mst2-mean-field", "--loss", "nll", "--epochs", str(epochs), "--set", *RICH


def warm_started(lang: str, parser: str, start: Path) -> tuple[str, ...]:
    """Arguments of structdep train for a parser that begins with the weights of the run `start`."""
    _, epochs = EPOCHS.get(lang, USUAL)
    chosen = ("--parser", parser, "--init-from", str(start), "--epochs", str(FEW.get(parser, epochs)))
    return *chosen, "--set", *RICH, "learning_rate=0.0015"
