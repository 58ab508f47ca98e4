"""How good several parsers are together, and what they gain over each of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from structdep_parser.data.sentences import Sentence
from structdep_parser.data.writing import write_predictions
from structdep_parser.evaluation.scores import Evaluation, evaluate
from structdep_parser.parsers.ensemble import Ensemble, Member
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.tables import markdown


def together(
    models: Mapping[str, TrainedModel],
    by: Sequence[str],
    system: str | None,
    weights: Sequence[float] | None = None,
) -> Ensemble:
    """The ensemble of these models."""
    return Ensemble([Member(name, model) for name, model in models.items()], by, system, weights)


Scores = Mapping[str, tuple[float, float]]
"""UAS and LAS of each parser, that of all together last."""


def evaluated(ensemble: Ensemble, sentences: Sequence[Sentence], path: Path) -> tuple[Evaluation, Scores]:
    """How good all together are, whose trees are written, and the scores of each beside theirs."""
    predictions, alone = ensemble.beside_members(sentences)
    write_predictions(path, sentences, predictions.heads, predictions.deprels)
    found = {name: evaluate(sentences, made) for name, made in (*alone.items(), (str(ensemble), predictions))}
    return found[str(ensemble)], {name: (100 * own.all.uas, 100 * own.all.las) for name, own in found.items()}


def gains(splits: Mapping[str, Scores]) -> str:
    """A table: a row for each parser, for all together, and for what is gained.

    Example:
        >>> print(gains({"dev": {"a": (80.0, 70.0), "b": (82.0, 70.0), "both": (83.0, 73.5)}}))
        | parser | dev UAS | LAS |
        | --- | --: | --: |
        | a | 80.00 | 70.00 |
        | b | 82.00 | 70.00 |
        | both | 83.00 | 73.50 |
        | more than the best | +1.00 | +3.50 |
        | more than the mean | +2.00 | +3.50 |
    """
    header = ["parser", *(column for split in splits for column in (f"{split} UAS", "LAS"))]
    names = list(next(iter(splits.values())))
    table = {name: [score for scores in splits.values() for score in scores[name]] for name in names}
    (*alone, (_, all_of_them)) = table.items()
    columns = list(zip(*(scores for _, scores in alone), strict=True))
    gained = {
        f"more than the {of.__name__.replace('max', 'best')}": [of(column) for column in columns] for of in (max, mean)
    }
    body = [[name, *(f"{score:.2f}" for score in scores)] for name, scores in table.items()]
    body += [
        [name, *(f"{score - other:+.2f}" for score, other in zip(all_of_them, others, strict=True))]
        for name, others in gained.items()
    ]
    return markdown(header, body, numbers=True)
