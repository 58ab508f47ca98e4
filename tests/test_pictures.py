"""Drawings of deduction systems, and the pictures of docs/images."""

import re
from xml.etree import ElementTree

import pytest

import structdep as sd
from benchmarks.figures import ROOT
from benchmarks.figures.__main__ import PICTURES
from structdep.deduction import DeductionSystem, Item, Score, arc, either, indices, n
from structdep_parser.drawing.canvas import DARK, PAPER
from structdep_parser.drawing.rules import svg
from structdep_parser.drawing.schemas import Link, heads, joints, schemas, sides

IMAGES = ROOT / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"
i, k, j = indices("i k j")


@pytest.mark.parametrize("name", sorted(PICTURES.keys() - {"semirings"}))
def test_checked_in_pictures_are_those_that_the_command_draws(name: str) -> None:
    assert PICTURES[name]() == (IMAGES / f"{name}.svg").read_text(encoding="utf-8")


def test_pictures_are_well_formed_and_have_colours_for_dark_screens() -> None:
    for name in PICTURES:
        picture = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert ElementTree.fromstring(picture).tag == f"{SVG}svg" and picture.count("<path") > 3, name
        assert "prefers-color-scheme: dark" in picture and DARK[PAPER] in picture, name


@pytest.mark.parametrize(
    "system",
    [
        sd.charts.eisner(siblings=True, grandparents=True),
        sd.charts.mh4_trees(),
        sd.charts.arc_standard(transitions=True),
    ],
    ids=lambda system: system.name,
)
def test_no_item_is_outside_of_the_page(system: DeductionSystem) -> None:
    page = ElementTree.fromstring(svg(system))
    for cell in page.iter(f"{SVG}g"):
        across, down = map(float, re.findall(r"[-\d.]+", cell.get("transform", "")))
        for shape in cell.iter(f"{SVG}polygon"):
            corners = [tuple(map(float, corner.split(","))) for corner in shape.get("points", "").split()]
            assert all(0 <= across + x <= float(page.get("width", 0)) for x, _ in corners)
            assert all(0 <= down + y <= float(page.get("height", 0)) for _, y in corners)


def test_a_system_of_ones_own_shows_its_arcs_and_scores() -> None:
    I, word = Item("I"), Score("word")
    rule = I[i, k] * I[k, j] * word[k] * either(arc[i, k], arc[j, k]) >> I[i, j]
    drawing = svg(DeductionSystem("own<", (I[i, i + 1],), (rule,), goal=I[0, n + 1], scores=(arc, word)))
    texts = [text.text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]
    assert {"own<", "word[k]", "i+1", "n+1", "Dashed arrows: the rule adds one of these arcs."} <= set(texts)
    assert drawing.count("<polygon") == 5 and drawing.count('stroke-dasharray="5 3"') == 2


def test_systems_without_rules_are_refused_and_large_exponents_drawn() -> None:
    with pytest.raises(TypeError, match=r"expected a deduction system, such as sd\.charts\.eisner\(\)"):
        svg(sd.spanning.all_trees())  # type: ignore[arg-type]
    assert "time n¹⁰, space n⁹" in svg(sd.charts.mhk(10))


def test_shapes_follow_from_the_rules() -> None:
    eisner = schemas(sd.charts.eisner())
    assert heads(eisner) == {("C→", 0), ("C←", 1), ("I→", 0), ("I←", 1)}
    assert joints(eisner, heads(eisner)) == {("I→", 1), ("I←", 0)}
    assert sides(schemas(sd.charts.arc_standard())) == {"L": False, "R": True}


def test_states_of_a_class_are_drawn_once() -> None:
    system = sd.charts.one_endpoint_crossing()
    merged = schemas(system)
    assert (len(system.rules), len(merged)) == (289, 44)
    [optional] = [s.links for s in merged if [a.symbol.name[0] for a in (*s.premises, s.conclusion)] == ["S", "I"]]
    assert optional == (Link(i, j, sure=False, directed=False),)
