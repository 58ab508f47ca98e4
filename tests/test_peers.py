"""The command that compares other libraries: its page, from made-up rows, its options, and how it continues."""

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import installed, jax_libraries, parser_programs, parsers
from benchmarks.peers.jax_libraries import EISNER, SIBLINGS, SYSTEMS
from benchmarks.peers.page import page
from benchmarks.peers.rows import OURS, Results, Row, Step, load
from benchmarks.peers.turns import BEST_TREE, LOG_PARTITION, NO_HEAD, Measure, Query, Work, compare, measure, step
from structdep_parser.data.conllu import read
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Treebank

MACHINE = {"device": "a processor", "cores": "1 of 2", OURS: "0.1.0", "SuPar": "1.1.4"}
OTHER = "SuPar"


def row(program: str, *runs: float, batch: int = 16, **others: object) -> Row:
    made = Row("charts", EISNER, LOG_PARTITION, program, "ms a sentence", words=20, batch=batch, runs=list(runs))
    return replace(made, **others)  # type: ignore[arg-type]


def parser_row(program: str, *runs: float) -> Row:
    return Row("parsers", "got", "parse", program, "words/s", runs=list(runs))


def test_the_page_has_medians_spread_and_multiples_of_the_best_batch_of_each_library() -> None:
    ours = row(OURS, 0.01, 0.02, 0.03, 0.04, 0.05)
    slower, best = row(OTHER, 9, batch=64, difference=0), row(OTHER, 1.1, 1.3, 1.5, difference=1e-6)
    written = page(Results(MACHINE, "Others were busy.", [ours, slower, best]))
    assert "cores: 1 of 2. Others were busy." in written
    assert f"| `eisner()` | log-partition | {OTHER} | 43 |" in written
    assert "| log-partition | 20 | structdep | 16 | 0.03 | 0.02 to 0.04 | 5 |  |  |" in written
    assert f"| log-partition | 20 | {OTHER} | 16 | 1.3 | 1.1 to 1.5 | 3 | 43 | 1e-06 |" in written
    assert "Results that were compared: 2. All agree." in written and "Failures" not in written


def test_the_page_names_libraries_that_are_not_installed_and_what_is_not_measured() -> None:
    written = page(Results(MACHINE, missing={"parsers": "no treebank 'got' in data/\nmore"}))
    assert "| SuPar | 1.1.4 |" in written and "| SynJax | not installed: it is not on PyPI; clone" in written
    assert "## Training and parsing\n\nNot measured: no treebank 'got' in data/\n" in written
    assert "### All trees\n\nNot measured.\n" in written


def test_the_page_has_a_table_of_parsers_and_lists_failures() -> None:
    failed = row(OTHER, trouble="RuntimeError: out of memory")
    rows = [parser_row("structdep mst", 900, 1000, 2000), parser_row("UDPipe", 500), failed]
    written = page(Results(MACHINE, rows=rows))
    assert "| | structdep mst | UDPipe |" in written
    assert "| parse, words/s | 1,000 (900 to 2,000) | 500 (500 to 500) |" in written
    assert "Runs: structdep mst 3, UDPipe 1." in written
    assert f"| {OTHER} | `eisner()` | log-partition | 20 | RuntimeError: out of memory |" in written


def test_an_interrupted_run_continues_and_the_page_is_written_after_each_step(tmp_path: Path) -> None:
    out, ran = tmp_path / "peers", list[str]()

    def one(name: str) -> Step:
        return Step(name, lambda: ran.append(name) or [parser_row("UDPipe", len(ran))])  # type: ignore[func-returns-value]

    options = command.arguments_parser().parse_args(["--out", str(out)])
    assert command.measure([one("run 1")], Results(MACHINE), options, command.page) == 0
    known = load(out.with_suffix(".json"), MACHINE)
    assert command.measure([one("run 1"), one("run 2")], known, options, command.page) == 0
    assert ran == ["run 1", "run 2"]
    assert [saved["runs"] for saved in json.loads(out.with_suffix(".json").read_text())["rows"]] == [[1, 2]]
    assert "(1 to 2)" in out.with_suffix(".md").read_text()
    options.minutes = -1
    assert (
        command.measure([one("run 1"), one("run 3"), one("run 4")], known, options, command.page) == 2 and len(ran) == 2
    )
    with pytest.raises(ValueError, match=r"another machine or of other versions \(SuPar, torch\)"):
        load(out.with_suffix(".json"), MACHINE | {"SuPar": "1.2", "torch": "3"})


def test_options_restrict_what_is_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = list[str]()

    def part(name: str, steps: list[Step] | None) -> object:
        def steps_of(options: argparse.Namespace) -> list[Step]:
            asked.append(name)
            if steps is None:
                raise FileNotFoundError("no treebank")
            return steps

        return steps_of

    measured = Step("one", lambda: [row(OURS, 1)])
    fake = {"charts": part("charts", [measured]), "spanning": part("spanning", []), "parsers": part("parsers", None)}
    monkeypatch.setattr(command, "PARTS", fake)
    command.main(["--only", "charts", "parsers"])
    printed = capsys.readouterr()
    assert asked == ["charts", "parsers"]
    assert "### Charts\n\n| system" in printed.out and "Not measured: no treebank" in printed.out
    assert "parsers: no treebank" in printed.err
    with pytest.raises(SystemExit):
        command.main(["--only", "nothing"])


def test_steps_are_named_by_all_that_they_measure() -> None:
    options = command.arguments_parser().parse_args(["--words", "3", "4", "--batch", "2", "--sibling-batch", "1"])
    names = [one.name for part in ("charts", "spanning") for one in command.PARTS[part](options)]
    assert len(set(names)) == len(names) == 2 * (3 + 3 + 1) + 2 * 6
    assert "charts: eisner(siblings=True), best tree, 4 words, batch of 1" in names


@pytest.mark.parametrize("system", SYSTEMS)
def test_structdep_answers_each_query_and_libraries_may_answer_none(system: str) -> None:
    libraries = {OURS: jax_libraries.structdep, OTHER: lambda query, scores: None}
    [found] = step("charts", Query(system, BEST_TREE), libraries, words=3, batch=2, how=Measure(3, 0)).run()
    assert found.program == OURS and len(found.runs) == 3 and not found.trouble


def test_results_are_compared_and_failures_do_not_stop_the_others() -> None:
    def fails() -> object:
        raise RuntimeError("no\nsuch thing")

    works = {OURS: Work(lambda: lambda: [1.0, 2.0]), "wrong": Work(lambda: lambda: [1.0, 2.1]), "failing": Work(fails)}  # type: ignore[arg-type]
    rows = {name: row(name) for name in works}
    measure(works, rows, Measure(rounds=9, seconds=0))
    assert [len(rows[name].runs) for name in works] == [3, 3, 0]
    assert rows["wrong"].trouble == "another result" and math.isclose(rows["wrong"].difference or 0, 0.05)
    assert rows["failing"].trouble == "RuntimeError: no"
    tree = row(OTHER, query=BEST_TREE)
    compare(tree, np.array([[0, NO_HEAD], [0, 1]]), np.array([[0, 1], [0, 1]]))
    assert (tree.difference, tree.trouble) == (0.25, "other trees for 1 of 2 sentences, 1 are no trees")


def test_versions_of_libraries_and_of_the_machine() -> None:
    assert installed.version("Chu-Liu-Edmonds in C++") == installed.machine()["Chu-Liu-Edmonds in C++"] != ""
    assert set(installed.PEERS) >= set(installed.taking_part())
    assert SIBLINGS in SYSTEMS


def test_parsed_words_are_checked_and_failing_parsers_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    treebank: Treebank = write_demo_treebank(tmp_path)
    assert treebank.dev is not None
    dev = read(treebank.dev)
    assert parsers.las(dev, dev) == 100
    with pytest.raises(ValueError, match="other words than the treebank"):
        parsers.las(dev, dev[::-1])

    def fails(*arguments: object) -> float:
        raise RuntimeError("a command failed:\nwhy")

    monkeypatch.setattr(parsers, "seconds", fails)
    [failed] = parsers.one_run(parser_programs.udpipe(), treebank, "demo", 0)
    assert (failed.program, failed.trouble, failed.runs) == ("UDPipe", "why", [])
    with pytest.raises(RuntimeError):
        parsers.one_run(parser_programs.structdep("mst"), treebank, "demo", 0)
