"""Parsers that are compared: their commands to train and to parse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.rows import OURS

Command = list[str]
"""Arguments of Python."""


class Program(NamedTuple):
    """A parser from the shell: commands that train it for some epochs into a path, and parse a file by that."""

    name: str
    train: Callable[[Path, int, Sequence[Path]], Command]
    parse: Callable[[Path, Path, Path], Command]


def structdep(parser: str) -> Program:
    command = ["-m", "structdep_parser"]
    loss = "hinge" if parser == "mh4-hybrid" else "nll"

    def train(path: Path, epochs: int, files: Sequence[Path]) -> Command:
        train, dev, test = map(str, files)
        choices = ["--parser", parser, "--loss", loss, "--tags", "off", "--epochs", str(epochs)]
        choices += ["--set", "layers=2"]  # as SuPar's
        place = ["--runs", str(path.parent), "--name", path.name]
        return [*command, "train", "--train", train, "--dev", dev, "--test", test, *choices, *place]

    def parse(path: Path, source: Path, target: Path) -> Command:
        return [*command, "parse", str(path), "-i", str(source), "-o", str(target)]

    return Program(f"{OURS} {parser}", train, parse)


def supar() -> Program:
    def train(path: Path, epochs: int, files: Sequence[Path]) -> Command:
        return [script("supar_parser"), "train", str(path), str(epochs), "250", *map(str, files)]

    def parse(path: Path, source: Path, target: Path) -> Command:
        return [script("supar_parser"), "parse", str(path), str(source), str(target)]

    return Program("SuPar", train, parse)


def udpipe() -> Program:
    def train(path: Path, epochs: int, files: Sequence[Path]) -> Command:
        return [script("udpipe_parser"), "train", str(path), str(epochs), *map(str, files[:2])]

    def parse(path: Path, source: Path, target: Path) -> Command:
        return [script("udpipe_parser"), "parse", str(path), str(source), str(target)]

    return Program("UDPipe", train, parse)


def script(name: str) -> str:
    return str(Path(__file__).with_name(f"{name}.py"))
