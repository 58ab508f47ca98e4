"""Mutations of a module: changes of one place in its syntax tree that its tests should notice."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
PAIRS = ("min max", "minimum maximum", "argmin argmax", "any all", "zeros ones", "zeros_like ones_like", "prod sum")
NAMES = {a: b for pair in PAIRS for a, b in (pair.split(), reversed(pair.split()))}
KEPT = {"strict", "static_argnames", "static_argnums", "metadata", "message", "trees", "name", "dtype"}
"""Arguments of calls that say nothing of what is computed, or whose mutants are all alike."""
LEFT_ALONE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)
FIELDS_LEFT_ALONE = {"annotation", "returns", "decorator_list", "bases", "type_params", "targets", "target"}


class Mutation(NamedTuple):
    """Another node in a field of its parent (or at a place in that field), with both as text."""

    path: Path
    line: int
    before: str
    after: str
    apply: Callable[[], None]


def mutations(path: Path) -> tuple[ast.Module, list[Mutation]]:
    """The syntax tree of a module, and all mutations of it. Applying one changes the tree."""
    tree = ast.parse(path.read_text())
    is_chart = path.parent.name == "charts"
    found = []
    for parent, field, place, node in _places(tree):
        for new in _variants(node, is_chart):
            before, after = ast.unparse(node), ast.unparse(new)
            apply = _replacing(parent, field, place, ast.copy_location(new, node))
            if before != after:
                found.append(Mutation(path, node.lineno, before, after, apply))
    return tree, found


def _replacing(parent: ast.AST, field: str, place: int | None, new: ast.AST) -> Callable[[], None]:
    def apply() -> None:
        ast.fix_missing_locations(new)
        if place is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[place] = new

    return apply


def _places(parent: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Nodes to be mutated: not those of annotations, decorators, texts, errors, imports, and types."""
    if isinstance(parent, LEFT_ALONE) or getattr(parent, "name", "") in ("__repr__", "__str__"):
        return
    for field, value in ast.iter_fields(parent):
        if field in FIELDS_LEFT_ALONE or (field == "func" and isinstance(value, ast.Name)):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or (isinstance(node, ast.keyword) and node.arg in KEPT):
                continue
            if isinstance(parent, ast.Module) and isinstance(getattr(node, "value", None), ast.Subscript):
                continue  # the name of a type
            if isinstance(node, ast.expr | ast.stmt):
                yield parent, field, place, node
            yield from _places(node)


def _variants(node: ast.AST, is_chart: bool) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(op=ast.RShift()):  # the arrow of a rule
            return
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS.get(type(op), ()))
            if isinstance(op, ast.Mult):
                yield from (left, right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(OPERATORS[type(op)][0](), values)  # type: ignore[arg-type]
            yield from values
        case ast.Compare(left, ops, comparators):
            for place, op in enumerate(ops):
                for other in OPERATORS.get(type(op), ()):
                    yield ast.Compare(left, [*ops[:place], other(), *ops[place + 1 :]], comparators)  # type: ignore[list-item]
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub()):
            yield node.operand
        case ast.Constant(bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(int() | float()):
            yield from (ast.Constant(node.value + step) for step in (1, -1))
        case ast.If(test) | ast.IfExp(test) | ast.While(test):
            new = deepcopy(node)
            new.test = ast.UnaryOp(ast.Not(), test)
            yield new
        case ast.Call():
            yield from _calls(node)
        case ast.Subscript(value, index):
            yield from (ast.Subscript(value, other, node.ctx) for other in _indices(index, is_chart))
        case ast.Tuple(elements) if len(elements) > 2 and all(isinstance(e, ast.BinOp | ast.Call) for e in elements):
            for place in range(len(elements)):
                yield ast.Tuple([*elements[:place], *elements[place + 1 :]], ast.Load())
        case ast.Expr(ast.Yield() | ast.YieldFrom()):
            yield ast.Expr(ast.YieldFrom(ast.Tuple([], ast.Load())))
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign([ast.Name(name)], value) if name in {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
            yield ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield from (ast.AugAssign(node.target, other(), node.value) for other in OPERATORS[type(node.op)])  # type: ignore[arg-type]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for place, part in enumerate(node.generators):
            if part.ifs:
                new = deepcopy(node)
                new.generators[place].ifs = []
                yield new


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Another function of the same arguments, arguments exchanged or left out, no call at all."""
    function, arguments, keywords = node.func, node.args, node.keywords
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if name in NAMES:
        new = deepcopy(node)
        setattr(new.func, "id" if isinstance(function, ast.Name) else "attr", NAMES[name])
        yield new
    for place in range(len(arguments) - 1) if name not in NAMES else ():
        if not any(isinstance(a, ast.Starred) for a in arguments[place : place + 2]):
            swapped = [*arguments[:place], arguments[place + 1], arguments[place], *arguments[place + 2 :]]
            yield ast.Call(function, swapped, keywords)
    for place, keyword in enumerate(keywords):
        if keyword.arg not in KEPT:
            yield ast.Call(function, arguments, [*keywords[:place], *keywords[place + 1 :]])
    if name in ("stop_gradient", "where", "sorted", "reversed", "flip", "maximum", "minimum", "abs") and arguments:
        yield from arguments[-2:]


def _indices(index: ast.expr, is_chart: bool) -> Iterator[ast.expr]:
    """Two indices exchanged, one without its bound, and, in charts, one that is moved by one."""
    match index:
        case ast.Slice(lower, upper, step):
            yield from (ast.Slice(*bounds) for bounds in ((None, upper, step), (lower, None, step)))
        case ast.Tuple(elements):
            for place, element in enumerate(elements):
                before, after = elements[:place], elements[place + 1 :]
                if after:
                    yield ast.Tuple([*before, after[0], element, *after[1:]], ast.Load())
                yield from (ast.Tuple([*before, new, *after], ast.Load()) for new in _indices(element, is_chart))
        case ast.Name() if is_chart and len(index.id) == 1:
            yield ast.BinOp(index, ast.Add(), ast.Constant(1))
