"""Files of several treebanks: a file may belong to a treebank of some name, whose vector is an input of its words."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

Files = Sequence[Path] | Mapping[str, Sequence[Path]]
"""Files, or the files of each treebank by its name."""
NAMED = re.compile("([^/=]+)=(.+)", re.DOTALL)


def of_options(option: str, given: Sequence[str]) -> Files:
    """The files that an option of a command line is given, each as FILE or each as NAME=FILE.

    A file whose own name has = in it is written with a folder, as in ./a=b.conllu.

    Raises:
        ValueError: some have names and some have none.

    Example:
        >>> of_options("--train", ["a.conllu", "./b=c.conllu"])
        [PosixPath('a.conllu'), PosixPath('b=c.conllu')]
        >>> of_options("--train", ["got=a.conllu", "hu=b.conllu", "got=c.conllu"])
        {'got': [PosixPath('a.conllu'), PosixPath('c.conllu')], 'hu': [PosixPath('b.conllu')]}
    """
    matches = [NAMED.fullmatch(text) for text in given]
    if not any(matches):
        return list(map(Path, given))
    found: dict[str, list[Path]] = {}
    for text, match in zip(given, matches, strict=True):
        if match is None:
            raise ValueError(f"{option} {text}: other files have names of treebanks: write NAME={text}")
        found.setdefault(match[1], []).append(Path(match[2]))
    return found


def paths_of(files: Files) -> list[Path]:
    """All files, treebank by treebank."""
    return [path for own in files.values() for path in own] if isinstance(files, Mapping) else list(files)


def names_of(files: Mapping[str, Files]) -> tuple[tuple[Path, str], ...]:
    """Each file with the name of its treebank; nothing where no file has one.

    Args:
        files: of each split, `train` first.

    Raises:
        ValueError: some splits have names and some have none, a name is not of `train`, or a file has two.
    """
    named = {split: own for split, own in files.items() if own and isinstance(own, Mapping)}
    known = named.get("train", {})
    for split, own in files.items():
        if own and named and split not in named:
            other = next(iter(named))
            raise ValueError(
                f"--{split} {paths_of(own)[0]}: the files of --{other} have names: write NAME=FILE here, too"
            )
        if unknown := [name for name in named.get(split, {}) if name not in known]:
            raise ValueError(f"--{split} {unknown[0]}=..: expected a name of --train: {', '.join(known)}")
    found: dict[Path, str] = {}
    for name, path in ((name, path) for own in named.values() for name, paths in own.items() for path in paths):
        if found.setdefault(path, name) != name:
            raise ValueError(f"{path} has two names, {found[path]} and {name}: write one")
    return tuple(found.items())


def joined_name(files: Files) -> str:
    """What a run on these files is called: the names of its treebanks, or that of the first file.

    Example:
        >>> joined_name({"got": [Path("a.conllu")], "hu": [Path("b.conllu")]}), joined_name([Path("c/a.conllu")])
        ('got+hu', 'a')
    """
    return "+".join(files) if isinstance(files, Mapping) else files[0].stem
