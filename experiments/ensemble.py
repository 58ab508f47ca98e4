"""Parse with several trained parsers at once: by their mean scores, by the sum of their marginals, or by their votes.

python experiments/ensemble.py runs/got-mst-hinge-1 runs/got-mh4-hybrid-hinge-1 runs/got-1ec1-hinge-1 --system mh4
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import jax
import numpy as np
from rich.console import Console

import structdep as sd
from experiments.chart_parsers import CHARTS
from experiments.compiled import Compiled, keep_programs
from experiments.corpus import rows
from experiments.evaluation import evaluate
from experiments.files import write_whole
from experiments.members import Member
from experiments.memory import keep_freed_memory
from experiments.messages import failed
from experiments.prediction import Predictions
from experiments.run_treebank import treebank_of_run
from experiments.sentences import Sentence, read, write_predictions
from experiments.shapes import plan
from experiments.tables import markdown
from experiments.trained_model import TrainedModel

WAYS = ("marginals", "votes", "scores")
WORDS_PER_BATCH = 2000
EPILOG = """\
by marginals: the tree of --system with the most heads to be expected, in the mean over the parsers (those without
probabilities give votes); by votes: with the most heads in their trees, of equals those of the first parser; by
scores: the best tree by the mean of all score tables, of parsers of one kind (seeds, say). Relations are those of the
highest mean probability.
"""


class Ensemble:
    """Several parsers as one.

    Args:
        members: the parsers, of one treebank.
        by: what is summed; see EPILOG.
        system: a name of CHARTS, whose trees are sought.

    Raises:
        ValueError: parsers that cannot be summed so, or a system that does not know the tables.
    """

    def __init__(self, members: Sequence[Member], by: str, system: str | None) -> None:
        self.members, self.by = members, by
        if len({member.model.vocabulary.deprels for member in members}) > 1:
            raise ValueError("these parsers do not know the same relations: train them on the same treebank")
        own = members[0].model.config.parser
        if by == "scores":
            check_tables(members, system or own)
        self.system = system or (own if by == "scores" else "mst")
        chart = CHARTS[self.system]
        sought = chart.best if by == "scores" else chart.arcs
        self.search = Compiled(lambda scores, lengths: sd.argmax(sought, scores, lengths))

    def __str__(self) -> str:
        return f"{len(self.members)} parsers by {self.by}, {self.system}"

    def __call__(self, sentences: Sequence[Sentence]) -> tuple[Predictions, dict[str, Predictions]]:
        """The trees of all together, and those of each alone."""
        made = {name: _empty(sentences) for name in ("", *(member.name for member in self.members))}
        for group in zip(*(member.batches(sentences) for member in self.members), strict=True):
            lengths = group[0].lengths
            scored = [member.scores(batch) for member, batch in zip(self.members, group, strict=True)]
            alone = [member.heads(scores, lengths) for member, (_, scores) in zip(self.members, scored, strict=True)]
            heads = self.search(self._sum([scores for _, scores in scored], lengths), lengths)
            together: Any = 0
            for member, (states, _), own in zip(self.members, scored, alone, strict=True):
                together = together + member.relations(states, heads)
                self._fill(made[member.name], group[0], own, member.relations(states, own))
            self._fill(made[""], group[0], heads, together)
        return made.pop(""), made

    def _sum(self, scores: Sequence[Any], lengths: jax.Array) -> Any:
        if self.by == "scores":
            return jax.tree.map(lambda *tables: sum(tables) / len(tables), *scores)
        arcs = (member.arcs(own, lengths, self.by) for member, own in zip(self.members, scores, strict=True))
        # What decides between as many votes.
        return sum(table * (1 - FIRST * place) for place, table in enumerate(arcs))

    def _fill(self, made: Predictions, batch: Any, heads: jax.Array, relations: jax.Array) -> None:
        names = self.members[0].model.vocabulary.deprels
        labels = rows(batch, np.asarray(relations.argmax(-1)))
        for (place, tree), (_, numbers) in zip(rows(batch, np.asarray(heads)), labels, strict=True):
            made.heads[place], made.deprels[place] = tree, tuple(names[number] for number in numbers)


FIRST = 1e-4
"""How much more an earlier member counts."""


def check_tables(members: Sequence[Member], system: str) -> None:
    """Raise ValueError unless the members score the same tables, which the system knows."""
    kinds = {member.model.config.parser for member in members}
    if len(kinds) > 1:
        raise ValueError(
            f"--by scores takes parsers of one kind, not {', '.join(sorted(kinds))}: their scores do not compare; "
            "write --by marginals"
        )
    (kind,) = kinds
    if kind not in CHARTS:
        raise ValueError(f"--by scores takes parsers with charts, not {kind}: write --by votes")
    if system not in CHARTS or not CHARTS[kind].tables.keys() <= CHARTS[system].best.declared.keys():
        raise ValueError(f"--system {system} does not know all the scores of {kind}: leave --system out")


def _empty(sentences: Sequence[Sentence]) -> Predictions:
    return Predictions([np.zeros(0, np.int32)] * len(sentences), [()] * len(sentences))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; what the user can mend is told without a traceback."""
    options = parser().parse_args(arguments)
    keep_freed_memory()
    keep_programs()
    console = Console()
    try:
        text, folder = run(options)
    except (OSError, ValueError) as error:
        return failed("ensemble.py", error)
    console.print(text, markup=False, highlight=False)
    console.print(f"all in {folder}", highlight=False)
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="ensemble.py",
        description="Parse dev and test with several finished runs at once, and report what is gained.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of finished runs on one treebank")
    made.add_argument("--system", choices=CHARTS, help="whose trees to seek; default: mst, by scores the parsers' own")
    made.add_argument("--by", choices=WAYS, default="marginals", help="default: %(default)s")
    made.add_argument("--treebanks", type=Path, metavar="DIR", help="where treebanks are, as for ud.py")
    made.add_argument("--version", help="of UD, such as 2.0, to choose between several")
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="for dev.conllu, test.conllu, report.md; default: beside the first run"
    )
    return made


def run(options: argparse.Namespace) -> tuple[str, Path]:
    """Parse, write and report: the report, and the folder that it is in."""
    models = {folder.name: TrainedModel.load(folder) for folder in options.runs}
    if len(models) < 2:
        raise ValueError("an ensemble takes two runs or more, of different names")
    found = [
        treebank_of_run(model.config, folder, options.treebanks, options.version)
        for folder, model in zip(options.runs, models.values(), strict=True)
    ]
    paths = {"dev": found[0].dev, "test": found[0].test}
    splits = {split: read(path) for split, path in paths.items() if path is not None}
    most = max(model.config.max_shapes for model in models.values())
    shapes = plan([sentence for split in splits.values() for sentence in split], WORDS_PER_BATCH, most)
    ensemble = Ensemble([Member(name, model, shapes) for name, model in models.items()], options.by, options.system)
    first = options.runs[0]
    folder = options.out or first.parent / f"{models[first.name].config.lang}-ensemble-{options.by}-{ensemble.system}"
    scores = {split: _evaluated(ensemble, sentences, folder / f"{split}.conllu") for split, sentences in splits.items()}
    text = report(str(ensemble), scores)
    write_whole(folder / "report.md", text)
    return text, folder


Scores = Mapping[str, tuple[float, float]]
"""UAS and LAS of each parser, that of all together last."""


def _evaluated(ensemble: Ensemble, sentences: Sequence[Sentence], path: Path) -> Scores:
    together, alone = ensemble(sentences)
    write_predictions(path, sentences, together.heads, together.deprels)
    counts = {name: evaluate(sentences, made).all for name, made in (*alone.items(), (str(ensemble), together))}
    return {name: (100 * count.uas, 100 * count.las) for name, count in counts.items()}


def report(title: str, splits: Mapping[str, Scores]) -> str:
    """A table: a row for each parser, for all together, and for what is gained.

    Example:
        >>> print(report("both", {"dev": {"a": (80.0, 70.0), "b": (82.0, 70.0), "both": (83.0, 73.5)}}))
        # both
        <BLANKLINE>
        | parser | dev UAS | LAS |
        | --- | --: | --: |
        | a | 80.00 | 70.00 |
        | b | 82.00 | 70.00 |
        | both | 83.00 | 73.50 |
        | more than the best | +1.00 | +3.50 |
        | more than the mean | +2.00 | +3.50 |
        <BLANKLINE>
    """
    header = ["parser", *(column for split in splits for column in (f"{split} UAS", "LAS"))]
    names = list(next(iter(splits.values())))
    table = {name: [score for scores in splits.values() for score in scores[name]] for name in names}
    (*alone, (_, together)) = table.items()
    columns = list(zip(*(scores for _, scores in alone), strict=True))
    gains = {
        f"more than the {of.__name__.replace('max', 'best')}": [of(column) for column in columns] for of in (max, mean)
    }
    body = [[name, *(f"{score:.2f}" for score in scores)] for name, scores in table.items()]
    body += [
        [name, *(f"{score - other:+.2f}" for score, other in zip(together, others, strict=True))]
        for name, others in gains.items()
    ]
    return f"# {title}\n\n{markdown(header, body, numbers=True)}\n"


if __name__ == "__main__":
    sys.exit(main())
