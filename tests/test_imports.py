"""Folders import in one direction, modules in no circle, and faces name what is public."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import structdep

ROOT = Path(structdep.__file__).parent
PATHS = {
    ".".join(["structdep", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
ORDER = (
    *("_once", "deduction", "testing", "trees", "semirings", "charts", "_lowering", "_engines", "spanning"),
    *("batching", "inference", "relaxations", "greedy", "transitions", "_exported", "", "torch", "_doctor", "__main__"),
)
"""Folders, and modules beside them; "" is `structdep` itself. Each imports those before it alone."""
FACES = (
    *("structdep", "structdep.charts", "structdep.deduction", "structdep.greedy", "structdep.relaxations"),
    *("structdep.semirings", "structdep.spanning", "structdep.transitions", "structdep.trees"),
)


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules of the library that are imported, but for those that are imported for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("structdep"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in PATHS else str(node.module) for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in PATHS)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imports(node)


GRAPH = {module: set(imports(ast.parse(path.read_text("utf-8")))) for module, path in PATHS.items()}


def folder(module: str) -> str:
    return [*module.split("."), ""][1]


def test_folders_import_in_one_direction() -> None:
    assert {folder(module) for module in GRAPH} == {*ORDER}
    edges = [(module, other) for module, others in GRAPH.items() for other in others]
    assert len(edges) > 300
    ranks = [(ORDER.index(folder(module)), ORDER.index(folder(other))) for module, other in edges]
    assert [edge for edge, (own, other) in zip(edges, ranks, strict=True) if own < other] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert len([*TopologicalSorter(GRAPH).static_order()]) == len(GRAPH)  # raises CycleError otherwise


@pytest.mark.parametrize("name", FACES)
def test_faces_name_what_is_public(name: str) -> None:
    face = import_module(name)
    own = {key for key, value in vars(face).items() if not key.startswith("_")}
    modules = {key for key in own if isinstance(getattr(face, key), ModuleType)}
    assert {*face.__all__} >= own - modules
    assert {*face.__all__} <= own
    assert len({*face.__all__}) == len(face.__all__)
