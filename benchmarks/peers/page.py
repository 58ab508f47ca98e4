"""The page of the comparison, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.peers.installed import PEERS
from benchmarks.peers.page_text import INTRODUCTION, PROCESSES, SIBLINGS, SUMMARY, TITLES, TREES
from benchmarks.peers.rows import OURS, Results, Row


def page(results: Results) -> str:
    """What was compared, a summary, the rows of each part, and what failed."""
    trees = [row for row in results.rows if row.part != "parsers" and row.runs]
    blocks = [INTRODUCTION, machine(results), lines(libraries(results))]
    if trees:
        blocks += [about_trees(trees), SUMMARY, lines(summary(best_batches(trees)))]
    for part, title in TITLES.items():
        rows = [row for row in results.rows if row.part == part and row.runs]
        blocks.append(title)
        if part in results.missing:
            blocks.append(f"Not measured: {results.missing[part].splitlines()[0]}\n")
        elif not rows:
            blocks.append("Not measured.\n")
        elif part == "parsers":
            blocks += [PROCESSES.format(lang=rows[0].system), lines(process_table(rows))]
        else:
            blocks.append(lines(tree_table(best_batches(rows))))
    return "\n".join([*blocks, lines(agreement(results.rows))])


def lines(found: Iterator[str]) -> str:
    return "\n".join(found) + "\n"


def machine(results: Results) -> str:
    facts = {name: value for name, value in results.machine.items() if name not in (OURS, *PEERS) and value}
    return f"{', '.join(f'{name}: {value}' for name, value in facts.items())}. {results.note}".strip() + "\n"


def libraries(results: Results) -> Iterator[str]:
    yield "| library | version |\n|---|---|"
    for name in (OURS, *PEERS):
        version = results.machine.get(name)
        yield f"| {name} | {version or f'not installed: {PEERS[name].how}'} |"


def about_trees(rows: Sequence[Row]) -> str:
    second = [row for row in rows if "siblings" in row.system]
    if not second:
        return TREES
    slowest = f"{max(row.median for row in second):,.0f} ms"
    return TREES + "\n" + SIBLINGS.format(batch=second[0].batch, slowest=slowest)


def best_batches(rows: Sequence[Row]) -> list[Row]:
    """Of each program, query and length, the row of the batch with the least median. Lengths ascend within a query."""
    best: dict[tuple[object, ...], Row] = {}
    for row in rows:
        key = (row.system, row.query, row.words, row.program)
        if key not in best or row.median < best[key].median:
            best[key] = row
    queries = list(dict.fromkeys((row.system, row.query) for row in rows))
    return sorted(best.values(), key=lambda row: (queries.index((row.system, row.query)), row.words))


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Medians as multiples of structdep's, a column for each length."""
    found = {(row.system, row.query, row.program, row.words): row.median for row in rows}
    lengths = sorted({row.words for row in rows})
    yield f"| system | query | library | {' | '.join(f'{words} words' for words in lengths)} |"
    yield f"|---|---|---|{'--:|' * len(lengths)}"
    for system, query, program in dict.fromkeys((row.system, row.query, row.program) for row in rows):
        if program != OURS:
            keys = [((system, query, program, words), (system, query, OURS, words)) for words in lengths]
            ratios = [multiple(found[key] / found[own]) if key in found and own in found else "" for key, own in keys]
            yield f"| `{system}` | {query} | {program} | {' | '.join(ratios)} |"


def multiple(ratio: float) -> str:
    """With two digits or more."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def tree_table(rows: Sequence[Row]) -> Iterator[str]:
    own = {(row.system, row.query, row.words): row.median for row in rows if row.program == OURS}
    yield "| system | query | words | library | batch | ms a sentence | spread | runs | times structdep | difference |"
    yield "|---|---|--:|---|--:|--:|---|--:|--:|--:|"
    for row in rows:
        low, high = row.spread
        ratio = "" if row.program == OURS else multiple(row.median / own[row.system, row.query, row.words])
        difference = "" if row.difference is None else f"{row.difference:.0e}" if row.difference else "0"
        cells = [f"`{row.system}`", row.query, row.words, row.program, row.batch]
        cells += [f"{row.median:.3g}", f"{low:.3g} to {high:.3g}", len(row.runs), ratio, difference]
        yield f"| {' | '.join(map(str, cells))} |"


def process_table(rows: Sequence[Row]) -> Iterator[str]:
    """A row for each figure, a column for each program."""
    found = {(row.query, row.program): row for row in rows}
    programs = list(dict.fromkeys(row.program for row in rows))
    yield f"| | {' | '.join(programs)} |\n|---|{'--:|' * len(programs)}"
    for query, unit in dict.fromkeys((row.query, row.unit) for row in rows):
        cells = [cell(found[query, program]) if (query, program) in found else "" for program in programs]
        yield f"| {query}, {unit} | {' | '.join(cells)} |"
    runs = {row.program: len(row.runs) for row in rows}
    yield f"\nRuns: {', '.join(f'{program} {count}' for program, count in runs.items())}."


def cell(row: Row) -> str:
    low, high = row.spread
    digits = ",.0f" if row.unit == "words/s" else ".1f"
    return f"{row.median:{digits}} ({low:{digits}} to {high:{digits}})"


def agreement(rows: Sequence[Row]) -> Iterator[str]:
    """Whether all results are structdep's, and what failed."""
    failed = [row for row in rows if row.trouble]
    if failed:
        yield "## Failures\n\n| library | system | query | words | what happened |\n|---|---|---|--:|---|"
        for row in failed:
            yield f"| {row.program} | `{row.system}` | {row.query} | {row.words or ''} | {row.trouble} |"
    else:
        yield f"Results that were compared: {sum(row.difference is not None for row in rows)}. All agree."
