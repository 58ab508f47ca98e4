"""Treebanks: three CoNLL-U files of one language, found by its code."""

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from structdep_parser.choices import SPLITS
from structdep_parser.choices import TREEBANKS_VARIABLE as VARIABLE
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.held_out import NONE, TENTH, kept
from structdep_parser.data.named_files import Files, joined_name, names_of, paths_of
from structdep_parser.data.writing import write_predictions

__all__ = ["Sentence", "Treebank", "find_treebank", "read", "write_predictions"]


@dataclass(frozen=True)
class Treebank:
    """The files of a treebank.

    `test` is None where a release came without it (UD 2.0's public repositories). `further` are more files of a split,
    and `is_named` is False where the files were given one by one. Where several treebanks are trained on together,
    `names` has the name of each file's treebank. Without `dev`, `held_out` says which training sentences are dev: see
    `data.held_out`.
    """

    lang: str
    train: Path
    dev: Path | None
    test: Path | None
    further: tuple[tuple[str, Path], ...] = ()
    is_named: bool = True
    names: tuple[tuple[Path, str], ...] = ()
    held_out: str = TENTH

    @classmethod
    def of_files(cls, train: Files, dev: Files = (), test: Files = (), lang: str = "") -> "Treebank":
        """Any files, or those of several treebanks by their names; `lang` is by default that of the first file, or all
        names.

        Raises:
            ValueError: there is nothing to train on, or the names do not fit.
            FileNotFoundError: a file is missing.
        """
        if not train:
            raise ValueError("no files to train on: write --train FILE")
        given = {"train": train, "dev": dev, "test": test}
        names, files = names_of(given), {split: paths_of(own) for split, own in given.items()}
        if missing := next((path for paths in files.values() for path in paths if not path.is_file()), None):
            is_folder = missing.is_dir()
            raise FileNotFoundError(
                f"{missing} is a folder, expected a file" if is_folder else f"there is no file {missing}"
            )
        first = {split: paths[0] if paths else None for split, paths in files.items()}
        further = tuple((split, path) for split, paths in files.items() for path in paths[1:])
        lang = lang or joined_name(train)
        return cls(lang, files["train"][0], first["dev"], first["test"], further, is_named=False, names=names)

    def paths(self, split: str) -> list[Path]:
        """The files of a split."""
        first: Path | None = getattr(self, split)
        return [*([first] if first else []), *(path for other, path in self.further if other == split)]

    def seen_in_training(self) -> list[Path]:
        """The files of dev and test that are trained on as well, by their contents."""
        trained = [path.read_bytes() for path in self.paths("train")]
        return [path for split in ("dev", "test") for path in self.paths(split) if path.read_bytes() in trained]

    def words(self) -> int:
        """About how many words the training files have: their lines that begin with a whole number."""
        rows = (line for path in self.paths("train") for line in path.read_bytes().splitlines())
        return sum(line.partition(b"\t")[0].isdigit() for line in rows)

    def with_held_out(self, held_out: str) -> "Treebank":
        """The same files, with other training sentences for dev.

        Raises:
            ValueError: there are files of dev, or the text does not say which sentences.
        """
        if self.dev is not None:
            raise ValueError(
                "--held-out and --folds keep sentences of --train for dev: leave out that option, or --dev "
                f"{self.dev.name}"
            )
        kept(held_out, 0)
        return replace(self, held_out=held_out)

    def files(self, split: str) -> Files:
        """The files of a split, as `of_files` takes them."""
        names, found = dict(self.names), dict[str, list[Path]]()
        for path in self.paths(split) if names else ():
            found.setdefault(names[path], []).append(path)
        return found if names else self.paths(split)

    @property
    def checksum(self) -> str:
        """The training file's name, the beginning of the SHA-256 of training and dev files, and what is held out."""
        return self._checksum(with_ends=not self.is_named)

    def has(self, checksum: str) -> bool:
        """Whether a checksum is that of these files, also one of an earlier version, which did not know their ends."""
        return checksum == self.checksum or checksum == self._checksum(with_ends=False)

    def _checksum(self, with_ends: bool) -> str:
        files, names = [(split, path) for split in ("train", "dev") for path in self.paths(split)], dict(self.names)
        contents = [names.get(path, "").encode() + path.read_bytes() for _, path in files]
        if with_ends and len(files) > 1:  # a sentence that moves from one to another file counts
            contents += [f"{split} {len(own)}".encode() for (split, _), own in zip(files, contents, strict=True)]
        elif len(self.paths("train")) > 1:
            contents.append(f"of which {len(self.paths('train'))} are trained on".encode())
        held_out = "" if self.dev or self.held_out == TENTH else f", held out {self.held_out}"
        checksum = hashlib.sha256(b"".join(contents)).hexdigest()[:16]
        return f"{self.train.name} {checksum}{held_out}"

    def read(self) -> dict[str, list[Sentence]]:
        """The sentences of each split; heads of training sentences may be unknown.

        Without files of dev, every tenth whole sentence of the training set, or what `held_out` says, is its dev set,
        and not trained on.
        """
        found = {
            split: [s for path in paths for s in self._sentences(path, split)]
            for split in SPLITS
            if (paths := self.paths(split))
        }
        if "dev" not in found and self.held_out != NONE:
            whole = [place for place, s in enumerate(found["train"]) if (s.heads >= 0).all()]
            places = frozenset(whole[place] for place in kept(self.held_out, len(whole)))
            if not places or len(places) == len(found["train"]):
                raise ValueError(
                    f"{self.train} has too few sentences with all heads, {len(whole)}, to hold out {self.held_out} of "
                    "them: write --dev FILE, or --held-out none"
                )
            dev = [found["train"][place] for place in sorted(places)]
            rest = [s for place, s in enumerate(found["train"]) if place not in places]
            found = {"train": rest, "dev": dev, **{split: found[split] for split in found if split == "test"}}
        return found

    def _sentences(self, path: Path, split: str) -> list[Sentence]:
        found, name = read(path, "partial" if split == "train" else "whole"), dict(self.names).get(path, "")
        return [replace(sentence, treebank=name) for sentence in found] if name else found

    def evaluated(self) -> dict[str, list[Sentence]]:
        """The sentences of dev, and of test if it is there."""
        return {split: sentences for split, sentences in self.read().items() if split != "train"}


def find_treebank(lang: str, treebanks: str | Path | None = None, version: str | None = None) -> Treebank:
    """The treebank of a language code (got) or treebank code (got_proiel).

    Searched, with all subfolders: `treebanks` if given, else the folder that $STRUCTDEP_TREEBANKS names, else `data/`.
    `version` ("2.0") must be in the path. Raises FileNotFoundError where there is none, ValueError where there are
    several.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> with TemporaryDirectory() as folder:
        ...     written = write_demo_treebank(f"{folder}/anywhere")
        ...     find_treebank("demo", folder) == written
        True
    """
    places = _places(treebanks)
    found = next((hits for place in places if (hits := _candidates(place, lang))), [])
    fitting = [hit for hit in found if version is None or _has_version(hit, version)]
    if not fitting:
        raise FileNotFoundError(_none(lang, version, places, found))
    if len(fitting) > 1:
        raise ValueError(_several(lang, fitting))
    return in_folder(lang, *fitting[0])


def in_folder(lang: str, folder: Path, code: str) -> Treebank:
    """The treebank whose files are `folder`/`code`-ud-train.conllu and so on."""
    train, dev, test = (folder / f"{code}-ud-{split}.conllu" for split in SPLITS)
    if missing := [path.name for path in (train, dev) if not path.is_file()]:
        raise FileNotFoundError(f"the treebank {code} in {folder} lacks {' and '.join(missing)}")
    return Treebank(lang, train, dev, test if test.is_file() else None)


def _places(treebanks: str | Path | None) -> list[Path]:
    if treebanks is not None:
        return [Path(treebanks)]
    variable = os.environ.get(VARIABLE)
    return [Path(variable), Path("data")] if variable else [Path("data")]


Candidate = tuple[Path, str]


def _candidates(place: Path, lang: str) -> list[Candidate]:
    """Folder and code of every treebank below `place` with this code, or this language code and any treebank's."""
    code = re.escape(lang) + ("" if "_" in lang else "(?:_[a-z0-9]+)?")
    name = re.compile(rf"({code})-ud-(?:{'|'.join(SPLITS)})\.conllu")
    matches = ((path.parent, name.fullmatch(path.name)) for path in place.rglob("*.conllu"))
    return sorted({(folder, match[1]) for folder, match in matches if match})


def _has_version(candidate: Candidate, version: str) -> bool:
    return bool(re.search(rf"(?<![\d.]){re.escape(version)}(?!\.?\d)", str(candidate[0].resolve())))


def _several(lang: str, candidates: Iterable[Candidate]) -> str:
    lines = "\n".join(f"  {code} in {folder}" for folder, code in candidates)
    return (
        f"several treebanks answer to {lang!r}:\n{lines}\n"
        "Write the treebank's whole code (such as --lang got_proiel), the version in its path (--ud-version 2.0), "
        "or its own folder (--treebanks DIR)."
    )


def _none(lang: str, version: str | None, places: Iterable[Path], found: Iterable[Candidate]) -> str:
    wanted = f"{lang!r}" + (f" with version {version} in its path" if version else "")
    searched = " or ".join(f"{place}/" + ("" if place.is_dir() else " (no such folder)") for place in places)
    others = "".join(f"\n  there is {code} in {folder}" for folder, code in found)
    name = f"{lang}-ud-train.conllu" + ("" if "_" in lang else f" or {lang}_*-ud-train.conllu")
    return (
        f"no treebank {wanted} in {searched}; looked for {name}{others}\n"
        "Say where it is:\n"
        "  --treebanks DIR            a folder that holds it, at any depth\n"
        f"  {VARIABLE}=DIR    the same as an environment variable\n"
        "  data/                      the same in the working directory\n"
        "  structdep train --download fetches one from its public repository, into data/ (needs a network)\n"
        "  structdep train --train FILE  trains on files of your own"
    )
