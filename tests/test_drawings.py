"""Drawings of trees: nothing overlaps, what is there is drawn, and pages of runs show what files say."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from structdep.trees import all_trees, is_projective
from structdep_parser.cli import draw, report
from structdep_parser.config import Config
from structdep_parser.console import plain
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Treebank
from structdep_parser.data.writing import write_predictions
from structdep_parser.drawing.arcs import Arc, arcs_of, compared, legend, levels, likely
from structdep_parser.drawing.direction import MARK
from structdep_parser.drawing.figures import svg_of
from structdep_parser.drawing.svg import COLORS, svg
from structdep_parser.drawing.terminal import text
from structdep_parser.evaluation.page import write_page
from structdep_parser.tables import markdown
from structdep_parser.text import visible

SVG = "{http://www.w3.org/2000/svg}"


def arcs(heads: list[int]) -> list[Arc]:
    return [Arc(head, word, f"r{word}") for word, head in enumerate(heads, start=1)]


@pytest.mark.parametrize("apart", [0, 1])
def test_no_two_arcs_share_a_level_and_a_gap(apart: int) -> None:
    for heads in all_trees(4).tolist():
        found = levels(arcs(heads), apart)
        taken = [(level, gap) for arc, level in found.items() for gap in range(arc.left, arc.right + apart)]
        assert len(taken) == len(set(taken))
        assert set(found.values()) == set(range(1, max(found.values()) + 1))


def path_ends(path: str) -> tuple[float, float, float]:
    """Where an arc's line begins and ends, and how high it lies."""
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", path)]
    return numbers[0], numbers[8], numbers[4]


def test_svg_has_all_arcs_apart_and_inside() -> None:
    words = [["a<b", "X"], ["&", "Y"], ["þata", "Z"], ["本", "N"]]
    for heads in ([2, 0, 2, 3], [3, 4, 0, 3], [0, 0, 0, 0]):
        long = [replace(arc, label=arc.label * 4) for arc in arcs(heads)]
        drawing = ElementTree.fromstring(svg(words, long, "a & b"))
        lines = [path for path in drawing.iter(f"{SVG}path") if path.get("fill") == "none"]
        ends = [path_ends(line.get("d", "")) for line in lines]
        places = [round(x, 1) for start, end, _ in ends for x in (start, end)]
        assert len(lines) == 4 and len(set(places)) == len(places)
        width, height = (float(drawing.get(name, "0")) for name in ("width", "height"))
        labels = [float(rect.get("width", "0")) for rect in drawing.iter(f"{SVG}rect")]
        assert all(abs(end - start) > label for (start, end, _), label in zip(ends, labels, strict=True))
        assert all(0 < x < width for x in places) and all(0 < y < height for *_, y in ends)
        shown = [node.text for node in drawing.iter(f"{SVG}text")]
        assert {"root", "a<b", "&", "本", "Z", "r1r1r1r1", "r4r4r4r4"} <= set(shown)
        middles = [float(node.get("x", "0")) for node in drawing.iter(f"{SVG}text") if node.get("font-size") == "14"]
        assert middles == sorted(middles)


def test_gold_arcs_are_below_and_improbable_ones_faint() -> None:
    gold, found = arcs([2, 0, 2]), [Arc(2, 1, "r1", opacity=0.9), Arc(0, 2, "other"), Arc(1, 3, "r3", opacity=0.1)]
    both = compared(found, gold)
    assert [arc.kind for arc in both] == ["right", "relation", "wrong", "missed"]
    assert list(legend(both)) == ["right", "relation", "wrong", "missed"] and legend(found) == {}
    drawing = ElementTree.fromstring(svg([["a"], ["b"], ["c"]], both))
    lines = {path.get("stroke"): path for path in drawing.iter(f"{SVG}path") if path.get("fill") == "none"}
    base = float(next(node.get("y", "0") for node in drawing.iter(f"{SVG}text") if node.text == "root"))
    for arc in both:
        *_, y = path_ends(lines[COLORS[arc.kind]].get("d", ""))
        assert (y > base) == (arc.kind == "missed")
    faint, clear = (float(lines[COLORS[kind]].get("stroke-opacity", "1")) for kind in ("wrong", "right"))
    assert faint < 0.3 < 0.8 < clear


def test_marginals_are_arcs() -> None:
    table = np.zeros((3, 3))
    table[0, 1], table[2, 1], table[0, 2] = 0.96, 0.04, 1
    assert [(arc.head, arc.dependent, arc.opacity) for arc in likely(table)] == [(0, 1, 0.96), (0, 2, 1.0)]
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \[n\+1, n\+1\]"):
        likely(np.zeros(3))


def test_terminal_draws_crossings_and_joints_differently() -> None:
    expected = """
0 root    ────────┐
1 a    r1 ◄───┐   │
2 b    r2 ◄───┼─┐ │
3 cc   r3 ◄─┬─┴─┼─┘
4 dd   r4 ◄─┴───┘
"""
    assert text(["a", "b", "cc", "dd"], arcs([3, 4, 0, 3])).plain == expected.strip("\n")
    for heads in all_trees(4).tolist():
        drawn = text(list("abcd"), arcs(heads)).plain
        assert drawn.count("◄") == 4 and len(drawn.splitlines()) == 5
        assert "┼" in drawn or is_projective(heads)


def test_terminal_tells_missed_arcs_and_aligns_wide_letters() -> None:
    drawn = text(["本", "ab"], compared(arcs([0, 1]), arcs([2, 0]))).plain.splitlines()
    assert drawn[1].endswith("gold 2 r1") and drawn[2].endswith("gold 0 r2")
    assert drawn[1].startswith("1 本   r1") and drawn[2].startswith("2 ab   r2")


HEBREW, LATIN = ["דלגה", "טרומית", "(", "UD"], ["a", "b", "(", "c"]


@pytest.mark.parametrize(
    ("forms", "right_to_left", "is_mirrored"),
    [(HEBREW, None, True), (HEBREW, False, False), (LATIN, None, False), (LATIN, True, True)],
)
def test_words_are_right_to_left_by_their_script_or_by_choice(
    forms: list[str], right_to_left: bool | None, is_mirrored: bool
) -> None:
    tree = compared([*arcs([2, 0, 2]), Arc(1, 4, "r4")], arcs([2, 0, 2, 3]))
    drawing, plain_one = (
        ElementTree.fromstring(svg([[form] for form in words], tree, right_to_left=choice))
        for words, choice in ((forms, right_to_left), (forms, False))
    )
    width = float(drawing.get("width", "0"))
    nodes, others = ([n for n in own.iter(f"{SVG}text") if n.get("font-size") == "14"] for own in (drawing, plain_one))
    assert [node.text for node in nodes] == ["root", *forms]
    middles, usual = ([float(node.get("x", "0")) for node in own] for own in (nodes, others))
    assert middles == sorted(middles, reverse=is_mirrored)
    np.testing.assert_allclose(middles, [width - x for x in usual] if is_mirrored else usual, atol=0.6)
    ends, usual_ends = (
        [path_ends(p.get("d", "")) for p in own.iter(f"{SVG}path") if p.get("fill") == "none"]
        for own in (drawing, plain_one)
    )
    flipped = [(width - start, width - end, y) for start, end, y in usual_ends]
    np.testing.assert_allclose(ends, flipped if is_mirrored else usual_ends, atol=0.6)
    assert [node.get("direction") == "rtl" for node in nodes][3] == is_mirrored


def test_terminal_lines_are_mirrored_for_words_from_right_to_left() -> None:
    tree = compared([*arcs([2, 0, 2]), Arc(1, 4, "r4")], arcs([2, 0, 2, 3]))
    drawn, usual = (text(HEBREW, tree, choice).plain.splitlines() for choice in (None, False))
    assert all(line.endswith(f" {node}") for node, line in enumerate(drawn)) and drawn[4].startswith("gold 3 r4  ")
    mirror = str.maketrans("◄┘┐┤└┌├", "►└┌├┘┐┤")
    for one, other in zip(drawn, usual, strict=True):
        lines = re.findall("[─-╿◄►]+", other)
        assert re.findall("[─-╿◄►]+", one) == [run[::-1].translate(mirror) for run in reversed(lines)]
    assert text(HEBREW, tree, True).plain.splitlines() == drawn and all(form in "".join(drawn) for form in HEBREW)


ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
ODD = [
    "<b>&\x00",
    "\x1b[31m",
    "[red]:100:",
    "\u202eabc",
    "\ufffe\uffff",
    "]]>",
    "-->",
    "\u2028",
    "$x^2$",
    "e\u0301",
    "\u05e9",
]


WORD = st.one_of(ANY.filter(lambda word: "\n" not in word), st.sampled_from(ODD))


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4))
def test_any_text_is_drawn_as_it_is(words: list[tuple[str, str]]) -> None:
    """Or by its escapes, where it would not be seen."""
    drawn = [Arc(word - 1, word, label) for word, (_, label) in enumerate(words, start=1)]
    page = ElementTree.fromstring(svg([[form, label] for form, label in words], drawn, words[0][0]))
    texts = [node.text for node in page.iter(f"{SVG}text")]
    assert texts[0] == "root" and texts[1 : 1 + 2 * len(words)] == [visible(part) for word in words for part in word]
    assert {visible(label) for _, label in words} <= set(texts[1 + 2 * len(words) :])
    lines, mirrored = (text([form for form, _ in words], drawn, choice).plain.split("\n") for choice in (False, True))
    assert len(lines) == len(mirrored) == 1 + len(words)
    for number, (line, other, (form, label)) in enumerate(zip(lines[1:], mirrored[1:], words, strict=True), start=1):
        assert line.startswith(f"{number} {visible(form)}") and visible(label) in line
        assert re.search(re.escape(visible(form)) + f"{MARK}? {number}$", other) and visible(label) in other


@given(ANY)
def test_any_text_is_printed_as_it_is(words: str) -> None:
    console = plain()
    with console.capture() as captured:
        console.print(words)
    assert captured.get() == visible(words) + "\n"


def test_names_are_no_markup_of_markdown_or_formulas() -> None:
    name = r"*a*|<b>_c_ got_proiel `d` [e](f) \\g"
    row = markdown(("name",), [(name,)]).splitlines()[-1]
    assert row == r"| \*a\*\|\<b\>\_c\_ got_proiel \`d\` \[e\](f) \\\\g |"
    figure = Figure()
    figure.text(0, 0, "$x^2 and $y_")
    assert "$x^2 and $y_" in svg_of(figure)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return write_demo_treebank(tmp_path_factory.mktemp("runs") / "demo-treebank")


def flattened(sentences: list[Sentence], path: Path) -> Path:
    """Predictions in which every fifth sentence hangs on the root, each arc with its probability."""
    found = [replace(s, heads=0 * s.heads) if place % 5 == 0 else s for place, s in enumerate(sentences)]
    misc = [[{"ArcProb": "0.5"}] * len(s) for s in found]
    write_predictions(path, found, [s.heads for s in found], [s.deprels for s in found], misc)
    return path


def test_sentences_are_chosen_and_printed(
    treebank: Treebank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = flattened(read(treebank.dev), tmp_path / "dev.conllu")
    assert {arc.opacity for arc in arcs_of(read(path)[0])} == {0.5}
    command = [str(path), "--gold", str(treebank.dev), "--sentences", "1", "demo-dev-7", "3-4"]
    assert draw.main(command) == 0
    printed = capsys.readouterr().out
    order = [line for line in printed.splitlines() if re.match(r"\d+ demo-dev", line)]
    assert order == ["1 demo-dev-1", "7 demo-dev-7", "3 demo-dev-3", "4 demo-dev-4"]
    assert printed.count("gold 4 nsubj") == 1 and printed.count("red: the head is wrong") == 1
    assert draw.main([*command, "--svg", str(tmp_path / "svg")]) == 0
    assert "4 drawings" in capsys.readouterr().out
    assert draw.main([*command[:3], "--sentences", "1", "--svg", str(tmp_path / "one")]) == 0
    assert "1 drawing in" in capsys.readouterr().out
    drawn = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "svg").iterdir()}
    assert sorted(drawn) == [f"dev-{number}.svg" for number in (1, 3, 4, 7)]
    assert COLORS["missed"] in drawn["dev-1.svg"] and COLORS["missed"] not in drawn["dev-7.svg"]


@pytest.mark.parametrize("name", ["0", "101", "7-3", "demo-dev-0", "x"])
def test_sentences_that_are_not_there_are_told(
    name: str, treebank: Treebank, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw.main([str(treebank.dev), "--sentences", name]) == 1
    told = f"--sentences {name}: {treebank.dev} has neither this sent_id nor this sentence; it has 100"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("value", ["x", "1.5", "nan"])
def test_what_is_no_probability_is_told(
    value: str, treebank: Treebank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = flattened(read(treebank.dev), tmp_path / "dev.conllu")
    path.write_text(path.read_text(encoding="utf-8").replace("ArcProb=0.5", f"ArcProb={value}"), encoding="utf-8")
    assert draw.main([str(path)]) == 1
    assert f"structdep draw: ArcProb={value}: expected a probability" in capsys.readouterr().err


@pytest.fixture
def run(treebank: Treebank) -> Path:
    """A run's files without the run, beside the folder of the demonstration treebank."""
    assert treebank.test is not None
    folder = treebank.dev.parent.parent / "run"
    for split, path in (("dev", treebank.dev), ("test", treebank.test)):
        flattened(read(path), folder / f"{split}.conllu")
    Config(parser="eisner", treebank=treebank.checksum).write(folder / "config.json")
    log = [
        {"epoch": epoch, "minutes": epoch / 2, "uas": 60.0 + epoch, "las": 50.0 + epoch, "loss": 1 / epoch}
        for epoch in (1, 2, 3)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    return folder


def test_pages_are_whole_and_need_nothing_else(
    run: Path, treebank: Treebank, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(run)]) == 0
    assert "report.html" in capsys.readouterr().out
    content = (run / "report.html").read_text(encoding="utf-8")
    page = ElementTree.fromstring(content.removeprefix("<!DOCTYPE html>"))
    assert not re.findall(r'(?:src|href)="(?!data:)', content)
    gold, found = read(treebank.dev), read(run / "dev.conllu")
    wrong = sum(int((g.heads != f.heads).sum()) for g, f in zip(gold, found, strict=True))
    words = sum(map(len, gold))
    cells = ["".join(cell.itertext()) for cell in page.iter("td")]
    assert cells[:4] == ["dev", "100", str(words), f"{100 * (1 - wrong / words):.2f}"]
    figures = [base64.b64decode(image.get("src", "").partition(",")[2]) for image in page.iter("img")]
    assert len(figures) == 2 and all(ElementTree.fromstring(figure).tag == f"{SVG}svg" for figure in figures)
    titles = [match for match in re.findall(r"Sentence (\d+) \(demo-dev-\d+\): (\d+) of", content)]
    assert len(titles) == len(list(page.iter(f"{SVG}svg"))) == 10
    assert all((int(number) - 1) % 5 == 0 for number, _ in titles)
    numbers = [int(number) for _, number in titles]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] > 0
    before = (run / "report.html").read_bytes()
    assert report.main([str(run)]) == 0 and (run / "report.html").read_bytes() == before


def test_pages_of_no_run_or_another_treebank_are_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report.main([str(tmp_path)]) == 1
    assert "config.json" in capsys.readouterr().err
    Config(treebank="other 0123").write(run / "config.json")
    assert report.main([str(run)]) == 1
    assert "is about other 0123, but this is demo-ud-train.conllu" in capsys.readouterr().err


def cut_off(blocks: list[str]) -> list[str]:
    return blocks[:10]


def swapped(blocks: list[str]) -> list[str]:
    return [blocks[1], blocks[0], *blocks[2:]]


@pytest.mark.parametrize(
    ("change", "message"),
    [(cut_off, "has 10 sentences, but"), (swapped, "sentence 1 is not the same: the word")],
)
def test_trees_of_other_sentences_are_told(
    change: Callable[[list[str]], list[str]],
    message: str,
    run: Path,
    treebank: Treebank,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = run / "test.conllu"
    blocks = path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    path.write_text("\n\n".join(change(blocks)) + "\n\n", encoding="utf-8")
    assert report.main([str(run)]) == 1
    told = capsys.readouterr().err
    assert message in told and str(path) in told and str(treebank.test) in told


def test_damaged_logs_are_named_and_empty_ones_left_out(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "log.jsonl"
    whole = path.read_text()
    for line, message in (
        ('{"epoch": 4, "ua', " is damaged"),
        ("{}", ", line 4 is of no evaluation"),
        ("4", ", line 4 is"),
    ):
        path.write_text(whole + line)
        assert report.main([str(run)]) == 1
        assert f"structdep report: {path}{message}" in capsys.readouterr().err
    path.write_text("")
    assert report.main([str(run)]) == 0
    assert "<h2>Training</h2>" not in (run / "report.html").read_text(encoding="utf-8")


def test_pages_of_odd_names_are_well_formed(run: Path, treebank: Treebank) -> None:
    whole = (run / "dev.conllu").read_text(encoding="utf-8")
    (run / "dev.conllu").write_text(
        whole.replace("\tnsubj\t", "\t<b>\x07\ufffe\t").replace("sent_id = ", "sent_id = <i>\x01:100:"),
        encoding="utf-8",
    )
    content = write_page(run, "", {"dev": read(treebank.dev)}).read_text(encoding="utf-8")
    page = ElementTree.fromstring(content.removeprefix("<!DOCTYPE html>"))
    assert r"<b>\x07\ufffe" in set(page.itertext()) and "(<i>\\x01:100:demo-dev-" in "".join(page.itertext())
