"""A run's folder: its configuration, log and checkpoints, so that a run that was killed goes on where it was."""

import io
import json
import logging
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from filelock import FileLock, Timeout
from orbax.checkpoint import checkpoint_managers

from structdep_parser.config import Config
from structdep_parser.data.sentences import Heads
from structdep_parser.files import write_whole
from structdep_parser.training.checksums import Checksums
from structdep_parser.training.trainer import State


class Run:
    """`folder`/{config.json, log.jsonl, checkpoints/, checksums.json, trees.npz}; made where it is not there.

    Raises:
        ValueError: the folder holds a run of another configuration; by `last` and `best`, a checkpoint is damaged.
    """

    def __init__(self, folder: str | Path, config: Config) -> None:
        self.folder = Path(folder).resolve()
        write_config(self.folder, config)
        self.checksums = Checksums(self.folder / "checksums.json", self.folder / "checkpoints")
        options = ocp.CheckpointManagerOptions(
            best_fn=_uas,
            preservation_policy=checkpoint_managers.AnyPreservationPolicy(
                [checkpoint_managers.LatestN(1), checkpoint_managers.BestN(get_metric_fn=_uas, n=1)]
            ),
            enable_async_checkpointing=False,
            create=False,
            # The first process of a run has its folder for itself.
            multiprocessing_options=ocp.options.MultiprocessingOptions(primary_host=0, active_processes={0}),
        )
        (self.folder / "checkpoints").mkdir(exist_ok=True)
        self.checkpoints = ocp.CheckpointManager(self.folder / "checkpoints", options=options)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from training this run meanwhile; ValueError if one does already."""
        try:
            with FileLock(self.folder / ".lock", blocking=False):
                yield
        except Timeout:
            raise ValueError(
                f"another process trains {self.folder}: wait until it ends, or write --name to use another folder"
            ) from None

    @property
    def has_begun(self) -> bool:
        """Whether an epoch has been saved."""
        return self.checkpoints.latest_step() is not None

    def last(self, template: State) -> tuple[int, State]:
        """The last epoch that was saved, with its state; else 0 and `template`. Log lines behind it are dropped."""
        epoch = self.checkpoints.latest_step() or 0
        if epoch and epoch not in [entry["epoch"] for entry in self.log()]:
            raise ValueError(f"{self.folder / 'log.jsonl'} has no line of epoch {epoch}, which was saved: {ANEW}")
        self._write_log([entry for entry in self.log() if entry["epoch"] <= epoch])
        return epoch, self._restore(epoch, template) if epoch else template

    def best(self, template: State) -> tuple[int, State]:
        """The epoch with the highest UAS on dev, and its state."""
        epoch = self.checkpoints.best_step()
        if epoch is None:
            raise ValueError(f"no checkpoint in {self.folder}: train for an epoch at least")
        scores = {entry["epoch"]: entry["uas"] for entry in self.log()}
        if scores and scores.get(epoch, 0) < max(scores.values()):
            lost = max(scores, key=lambda number: scores[number])
            raise ValueError(f"{self.folder / 'checkpoints'} lacks epoch {lost}, the best of the log: {ANEW}")
        return epoch, self._restore(epoch, template)

    def save(self, epoch: int, state: State, entry: dict[str, Any]) -> None:
        """Log an evaluation and save the state; only the last and the best are kept. OSError where there is no room."""
        self._write_log([*self.log(), {"epoch": epoch, **entry}])
        self.checksums.forget(str(epoch))
        try:
            _check_room(self.folder, state)
            with _quietly():
                # Of arrays of jax, orbax expects that all processes save them.
                args = ocp.args.StandardSave(jax.tree.map(np.asarray, state))
                self.checkpoints.save(epoch, args=args, metrics={"uas": entry["uas"]})
        except (OSError, ValueError) as error:
            place = self.folder / "checkpoints" / str(epoch)
            raise OSError(
                f"the checkpoint {place} cannot be written ({_reason(error)}): when this is mended, the same command "
                "goes on from the one before"
            ) from None
        self.checksums.add(str(epoch))

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
        place = self.folder / "checkpoints" / str(epoch)
        remedy = REMEDY if epoch == self.checkpoints.latest_step() else ANEW
        if self.checksums.is_damaged(str(epoch)):
            raise ValueError(f"the checkpoint {place} is damaged: {remedy}")
        try:
            with _quietly():
                wanted = jax.tree.map(lambda leaf: np.empty(leaf.shape, leaf.dtype), template)
                state: State = self.checkpoints.restore(epoch, args=ocp.args.StandardRestore(wanted))
        except Exception as error:  # orbax has errors of its own for each way in which files can be wrong
            raise ValueError(f"the checkpoint {place} cannot be read ({_reason(error)}): {remedy}") from None
        return state

    def _write_log(self, entries: list[dict[str, Any]]) -> None:
        write_whole(self.folder / "log.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))


REMEDY = "delete it, and the same command goes on from the one before, or from the beginning"
ANEW = "delete checkpoints/, and the same command trains anew"


def _check_room(folder: Path, state: State) -> None:
    """Raise OSError before a checkpoint is begun, where there is no room for it."""
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) + ROOM_BESIDES
    if (free := shutil.disk_usage(folder).free) < size:
        raise OSError(f"{free / 1e6:.1f} MB are free on the disk, it takes {size / 1e6:.1f}")


ROOM_BESIDES = 1_000_000
"""Bytes for what describes a checkpoint's arrays."""


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the tracebacks that orbax writes of errors that it raises as well."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _reason(error: Exception) -> str:
    """The last of the causes in tensorstore's messages, which begin with the outermost."""
    return re.sub(r"\s*\[.*", "", str(error).split("\n")[0]).split(": ")[-1]


def _uas(metrics: dict[str, float]) -> float:
    return metrics["uas"]


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


LOGGED = dict.fromkeys(("epoch", "minutes", "loss", "uas", "las")).keys()
"""What each line of a log has, whatever else it says."""


def write_config(folder: Path, config: Config) -> None:
    """Write the configuration to a new folder; in an old one it must be the same."""
    path = folder / "config.json"
    if not path.is_file():
        return config.write(path)
    try:
        differences = config.differences(Config.read(path))
    except ValueError as error:
        differences = [str(error)]
    if differences:
        raise ValueError(
            f"{folder} holds a run of another configuration ({'; '.join(differences)}): "
            "write --name to use another folder, or delete this one"
        )
