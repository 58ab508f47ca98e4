"""A run as one page of HTML that needs nothing else: curves, scores by kind of arc, confusions, the worst sentences."""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from matplotlib.figure import Figure

from structdep_parser.config import Config
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.drawing.arcs import KINDS, arcs_of, compared
from structdep_parser.drawing.figures import svg_of
from structdep_parser.drawing.svg import COLORS, svg
from structdep_parser.evaluation.comparison import check_words
from structdep_parser.evaluation.conll18 import METRICS
from structdep_parser.evaluation.run_figures import by_arc, curve
from structdep_parser.evaluation.scores import Evaluation, evaluate
from structdep_parser.files import write_whole
from structdep_parser.parsers.prediction import Predictions
from structdep_parser.tables import shown
from structdep_parser.text import xml
from structdep_parser.training.runs import read_log

WORST, RELATIONS = 10, 16
"""Sentences that are drawn, and relations that have a row among the confusions."""
CURVE = "UAS and LAS on dev, and the loss, by epoch"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
td, th { padding: .15em .6em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
.confusion { font-size: 12px; overflow-x: auto } .confusion td { padding: .1em .4em } .same { color: #999 }
.confusion thead th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: .4em .1em }
.tree { overflow-x: auto; border: 1px solid #ddd; margin: .3em 0 1.2em } .figures img { max-width: 100% }
"""


def write_page(
    folder: Path, ending: str, gold: Mapping[str, Sequence[Sentence]], files: Mapping[str, Path] | None = None
) -> Path:
    """Write report`ending`.html of a run that has config.json, dev`ending`.conllu and so on, and log.jsonl or members.

    `gold` has the sentences of each split with the right trees, those of dev first if there are some; `files`, what
    they were read from, where the trees may be of other sentences, which raises ValueError.
    """
    config = Config.read(folder / "config.json")
    predicted = {split: read(folder / f"{split}{ending}.conllu") for split in gold}
    for split, path in (files or {}).items():
        check_words(folder / f"{split}{ending}.conllu", predicted[split], path, gold[split])
    results = {split: evaluate(gold[split], Predictions.of(found)) for split, found in predicted.items()}
    split = next(iter(gold))
    pair = gold[split], predicted[split]
    title = f"{config.lang}: {', '.join(config.choices)}, seed {config.seed}"
    meanings = (f'<span style="color: {COLORS[kind]}">{xml(meaning)}</span>' for kind, meaning in KINDS.items())
    body = [
        f"<h1>{xml(title)}</h1>",
        _results(results),
        *([f"<h2>Training</h2>{_image(curve(log), CURVE)}"] if (log := read_log(folder)) else []),
        f"<h2>Which arcs of {split} are found</h2>",
        _image(by_arc(*pair), "UAS by length and crossing of gold arcs"),
        f"<h2>Relations of {split}: gold in rows, predicted in columns</h2>",
        _confusions(*pair),
        f"<h2>The sentences of {split} with the most wrong heads</h2>",
        f"<p>Arcs: {'; '.join([*meanings][1:])}. Where probabilities are known, what is improbable is faint.</p>",
        *_worst(*pair),
        "<h2>Configuration</h2>",
        _table(("name", "value"), [(name, str(value)) for name, value in asdict(config).items()]),
    ]
    page = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{xml(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )
    return write_whole(folder / f"report{ending}.html", page)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{xml(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{xml(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def _results(evaluations: Mapping[str, Evaluation]) -> str:
    rows = []
    for split, found in evaluations.items():
        exact = 100 * found.exact / found.sentences
        scores = (*found.conll18.values(), 100 * found.all.las, 100 * found.groups["crossing"].uas, exact)
        rows.append([split, str(found.sentences), str(found.all.total), *map(shown, scores)])
    names = "LAS with subtypes", "UAS of crossing arcs", "exact trees"
    return _table(("", "sentences", "words", *METRICS, *names), rows)


def _image(figure: Figure, text: str) -> str:
    data = base64.b64encode(svg_of(figure).encode()).decode()
    return f'<p class="figures"><img alt="{xml(text)}" src="data:image/svg+xml;base64,{data}"/></p>'


def _confusions(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> str:
    """The most frequent relations: how often each is taken for another, the darker the larger the share of its row."""
    pairs = Counter(
        pair for g, p in zip(gold, predicted, strict=True) for pair in zip(g.deprels, p.deprels, strict=True)
    )
    totals: Counter[str] = Counter()
    for (relation, _), number in pairs.items():
        totals[relation] += number
    shown = [relation for relation, _ in totals.most_common(RELATIONS)]
    rows = []
    for relation in shown:
        cells = [_cell(pairs[relation, other], totals[relation], relation == other) for other in shown]
        rest = totals[relation] - sum(pairs[relation, other] for other in shown)
        cells += [
            _cell(rest, totals[relation], False),
            f"<td>{100 * pairs[relation, relation] / totals[relation]:.1f}</td>",
        ]
        rows.append(f"<tr><td>{xml(relation)}</td>{''.join(cells)}</tr>")
    head = "".join(f"<th>{xml(name)}</th>" for name in ("", *shown, "others", "% right"))
    return f'<div class="confusion"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _cell(number: int, total: int, same: bool) -> str:
    if same:
        return f'<td class="same">{number}</td>'
    return f'<td style="background: rgba(200, 16, 46, {min(1, 3 * number / total):.2f})">{number or ""}</td>'


def _worst(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Iterator[str]:
    wrong = [int((g.heads != p.heads).sum()) for g, p in zip(gold, predicted, strict=True)]
    for place in sorted(range(len(gold)), key=lambda place: -wrong[place])[:WORST]:
        sentence = predicted[place]
        drawing = svg(sentence.columns, compared(arcs_of(sentence), arcs_of(gold[place])))
        name = f"{place + 1} ({sentence.sent_id})" if sentence.sent_id else f"{place + 1}"
        title = f"Sentence {name}: {wrong[place]} of {len(sentence)} heads are wrong"
        yield f'<p>{xml(title)}</p>\n<div class="tree">{drawing}</div>'
