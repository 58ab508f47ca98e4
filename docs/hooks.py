"""What the site adds to the pages of this folder: README and its like, and a page for each public module.

Pages are written as they are read in the repository: links between files become links between pages.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import structdep

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/NOTES.md": "benchmark_notes.md",
}
"""Files of the repository, and their pages."""
PAGES |= {f"benchmarks/results/{path.name}": f"results/{path.name}" for path in ROOT.glob("benchmarks/results/*.md")}
SOURCES = {page: source for source, page in PAGES.items()}


def modules(name: str, module: ModuleType) -> Iterator[tuple[str, str]]:
    """A module and its file, then the modules that its `__all__` names, by each of their names."""
    yield name, Path(str(module.__file__)).relative_to(ROOT).as_posix()
    for member in getattr(module, "__all__", ()):
        if isinstance(value := getattr(module, member), ModuleType):
            yield from modules(f"{name}.{member}", value)


MODULES = dict(modules("structdep", structdep)) | {
    "structdep.deduction": "structdep/deduction/__init__.py",
    "structdep.torch": "structdep/torch.py",
    "structdep_parser": "experiments/structdep_parser/__init__.py",
}
"""Public modules, by all their names, and their files."""
API: dict[str, str] = {}
"""Modules that have a page: each file by its first name."""
for name, path in MODULES.items():
    if path not in API.values():
        API[name] = path


def on_config(config: MkDocsConfig) -> None:
    config.nav.append({"API reference": [{name: f"api/{name}.md"} for name in API]})


def on_files(files: Files, config: MkDocsConfig) -> None:
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        title = "" if text.startswith("#") or not page.startswith("results/") else f"# Results: {Path(page).stem}\n\n"
        files.append(File.generated(config, page, content=title + text))
    for name, path in API.items():
        files.append(File.generated(config, f"api/{name}.md", content="\n".join(reference(name, path))))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    own = page.file.src_uri
    source = SOURCES.get(own, f"docs/{own}")

    def linked(match: re.Match[str]) -> str:
        text, target, anchor = match.groups(default="")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        other = PAGES.get(path, path.removeprefix("docs/"))
        if files.get_file_from_path(other) is None:  # it has no page
            return text.removeprefix("!")[1:-1]
        return f"{text}({posixpath.relpath(other, posixpath.dirname(own) or '.')}{anchor})"

    return re.sub(r"(!?\[[^\]]*\])\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)", linked, markdown)


def reference(module: str, path: str) -> Iterator[str]:
    """The lines of the page of a module: its docstring, and each public name."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    yield f"# `{module}`\n"
    yield (ast.get_docstring(tree) or "").split("\n\nExample")[0] + "\n"
    within = path.removeprefix("experiments/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for name in public(tree):
        if f"{module}.{name}" not in MODULES:
            is_hidden = (ROOT / path).with_name(f"{name}.py").exists()  # by the module of its name
            yield f"::: {within}.{name}.{name}\n" if is_hidden else f"::: {within}.{name}\n"


def public(tree: ast.Module) -> list[str]:
    """The names that a module offers: its `__all__` or `PUBLIC`, otherwise its functions and classes."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == "__all__":
                return list(ast.literal_eval(node.value))
            if node.targets[0].id == "PUBLIC":
                return [f"{where}.{name}" for name, where in ast.literal_eval(node.value).items()]
    defined = (node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    return [name for name in defined if not name.startswith("_")]


class Examples(griffe.Extension):
    """`Example:` in docstrings is a section of examples, as `Examples:` is."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = re.sub(r"^Example:", "Examples:", obj.docstring.value, flags=re.MULTILINE)
