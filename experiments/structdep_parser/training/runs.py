"""A run's folder: its configuration, log and checkpoints, from which an interrupted run resumes."""

import io
import json
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from filelock import FileLock, Timeout

from structdep_parser.arrays import read_arrays, write_arrays
from structdep_parser.config import Config
from structdep_parser.data.conllu import Heads
from structdep_parser.files import write_whole
from structdep_parser.training.step import State


class Run:
    """`folder`/{config.json, log.jsonl, checkpoints/, trees.npz}; made where it is not there.

    Raises:
        ValueError: the folder holds a run of another configuration; by `last` and `best`, a checkpoint is damaged.
    """

    def __init__(self, folder: str | Path, config: Config) -> None:
        self.folder = Path(folder).resolve()
        write_config(self.folder, config)
        self.checkpoints = self.folder / "checkpoints"
        self.checkpoints.mkdir(exist_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from training this run meanwhile; ValueError if one does already."""
        try:
            with FileLock(self.folder / ".lock", blocking=False):
                for part in self.checkpoints.glob(".*.safetensors.*"):  # of a process that was killed while it wrote
                    part.unlink()
                yield
        except Timeout:
            raise ValueError(
                f"another process trains {self.folder}: wait until it ends, or write --name to use another folder"
            ) from None

    @property
    def has_begun(self) -> bool:
        """Whether an epoch has been saved."""
        return bool(self._epochs())

    def last(self, template: State) -> tuple[int, State]:
        """The last epoch that was saved, with its state; else 0 and `template`. Log lines behind it are dropped."""
        epoch = max(self._epochs(), default=0)
        if epoch and epoch not in [entry["epoch"] for entry in self.log()]:
            raise ValueError(f"{self.folder / 'log.jsonl'} has no line of epoch {epoch}, which was saved: {ANEW}")
        self._write_log([entry for entry in self.log() if entry["epoch"] <= epoch])
        return epoch, self._restore(epoch, template) if epoch else template

    def best(self, template: State) -> tuple[int, State]:
        """The epoch with the highest UAS on dev, or the last without dev, and its state."""
        saved = self._epochs()
        if not saved:
            raise ValueError(f"no checkpoint in {self.folder}: train for an epoch at least")
        epoch = _best(self.log())
        if epoch not in saved:
            raise ValueError(f"{self.checkpoints} lacks epoch {epoch}, the best of the log: {ANEW}")
        return epoch, self._restore(epoch, template)

    def save(self, epoch: int, state: State, entry: dict[str, Any]) -> None:
        """Log an evaluation and save the state; only the last and the best are kept. OSError where there is no room."""
        self._write_log([*self.log(), {"epoch": epoch, **entry}])
        path = self._path(epoch)
        try:
            _check_room(self.folder, state)
            write_arrays(path, state)
        except OSError as error:
            raise OSError(
                f"the checkpoint {path} cannot be written ({error.strerror or error}): when this is mended, the same "
                "command resumes from the one before"
            ) from None
        for other in self._epochs() - {epoch, _best(self.log())}:
            self._path(other).unlink()

    def log(self) -> list[dict[str, Any]]:
        """An entry for each evaluation so far."""
        return read_log(self.folder)

    def trees(self) -> Heads | None:
        """The trees to train on, if they are there, and whole."""
        try:
            with np.load(self.folder / "trees.npz") as arrays:
                return list(np.split(arrays["heads"], arrays["ends"][:-1]))
        except (FileNotFoundError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
            return None

    def keep_trees(self, trees: Heads) -> None:
        """Save the trees to train on; finding them takes a while."""
        content = io.BytesIO()
        np.savez(content, heads=np.concatenate(trees), ends=np.cumsum([len(tree) for tree in trees]))
        write_whole(self.folder / "trees.npz", content.getvalue())

    def _restore(self, epoch: int, template: State) -> State:
        path = self._path(epoch)
        try:
            state: State = read_arrays(path, template)
        except (OSError, ValueError) as error:
            remedy = REMEDY if epoch == max(self._epochs()) else ANEW
            raise ValueError(f"the checkpoint {path} cannot be read ({error}): {remedy}") from None
        return state

    def _path(self, epoch: int) -> Path:
        return self.checkpoints / f"{epoch}.safetensors"

    def _epochs(self) -> set[int]:
        """Those that are saved; ValueError for checkpoints of an earlier version."""
        if earlier := next((path for path in self.checkpoints.iterdir() if path.is_dir()), None):
            raise ValueError(f"{earlier} is a checkpoint of an earlier version: {ANEW}; its model/ still loads")
        return {int(path.stem) for path in self.checkpoints.glob("*.safetensors") if path.stem.isdigit()}

    def _write_log(self, entries: list[dict[str, Any]]) -> None:
        write_whole(self.folder / "log.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))


REMEDY = "delete it, and the same command resumes from the one before, or from the beginning"
ANEW = "delete checkpoints/, and the same command trains again"


def _best(log: Sequence[dict[str, Any]]) -> int:
    """The epoch of the highest UAS, of equals the first; the last where there is no dev set."""
    best: int = max(log, key=lambda entry: entry.get("uas", entry["epoch"]))["epoch"]
    return best


def _check_room(folder: Path, state: State) -> None:
    """Raise OSError before a checkpoint is begun, where there is no room for it."""
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) + ROOM_BESIDES
    if (free := shutil.disk_usage(folder).free) < size:
        raise OSError(f"{free / 1e6:.1f} MB are free on the disk, it takes {size / 1e6:.1f}")


ROOM_BESIDES = 1_000_000
"""Bytes for what describes a checkpoint's arrays."""


def read_log(folder: Path) -> list[dict[str, Any]]:
    """An entry for each evaluation of the run in a folder, which is left as it is."""
    path = folder / "log.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    try:
        entries = [json.loads(line) for line in lines if line]
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): delete the lines that are not JSON") from None
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or not entry.keys() >= LOGGED:
            raise ValueError(f"{path}, line {number} is of no evaluation (it lacks {', '.join(LOGGED)}): {ANEW}")
    return entries


LOGGED = dict.fromkeys(("epoch", "minutes", "loss")).keys()
"""What each line of a log has, whatever else it says."""


def write_config(folder: Path, config: Config) -> None:
    """Write the configuration to a new folder; in an old one it must be the same.

    A run of an earlier version, which kept no checksum of features or another one of its files, goes on with those that
    there are: whether the files are the same is for `check_files` to say.
    """
    path = folder / "config.json"
    if not path.is_file():
        return config.write(path)
    try:
        earlier = Config.read(path)
    except ValueError as error:
        raise ValueError(f"{error}: {ELSEWHERE}") from None
    if not earlier.feature_checksum:
        width = config.feature_width if earlier.feature_width else 0
        config = replace(config, feature_checksum="", feature_width=width)
    changes = config.changes(earlier)
    if changes:
        here, there = (", ".join(f"{name}={values[place]}" for name, values in changes.items()) for place in range(2))
        raise ValueError(f"{folder} holds a run with {there}, but this command has {here}: {ELSEWHERE}")


ELSEWHERE = "write --name to use another folder, or delete this one"
