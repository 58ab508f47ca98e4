"""A run's folder: its configuration, log and checkpoints, so that a run that was killed goes on where it was."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint import checkpoint_managers

from experiments.config import Config
from experiments.files import write_whole
from experiments.sentences import Heads
from experiments.training import State


class Run:
    """`folder`/{config.json, log.jsonl, checkpoints/, trees.npz}; made where it is not there.

    Raises:
        ValueError: the folder holds a run of another configuration.
    """

    def __init__(self, folder: str | Path, config: Config) -> None:
        self.folder = Path(folder).resolve()
        _settle(self.folder, config)
        options = ocp.CheckpointManagerOptions(
            best_fn=_uas,
            preservation_policy=checkpoint_managers.AnyPreservationPolicy(
                [checkpoint_managers.LatestN(1), checkpoint_managers.BestN(get_metric_fn=_uas, n=1)]
            ),
            enable_async_checkpointing=False,
        )
        self.checkpoints = ocp.CheckpointManager(self.folder / "checkpoints", options=options)

    def last(self, template: State) -> tuple[int, State]:
        """The last epoch that was saved, with its state; else 0 and `template`. Log lines behind it are dropped."""
        epoch = self.checkpoints.latest_step() or 0
        self._write_log([entry for entry in self.log() if entry["epoch"] <= epoch])
        return epoch, self._restore(epoch, template) if epoch else template

    def best(self, template: State) -> tuple[int, State]:
        """The epoch with the highest UAS on dev, and its state."""
        epoch = self.checkpoints.best_step()
        if epoch is None:
            raise ValueError(f"no checkpoint in {self.folder}: train for an epoch at least")
        return epoch, self._restore(epoch, template)

    def save(self, epoch: int, state: State, entry: dict[str, Any]) -> None:
        """Log an evaluation and save the state; only the last and the best are kept."""
        self._write_log([*self.log(), {"epoch": epoch, **entry}])
        self.checkpoints.save(epoch, args=ocp.args.StandardSave(state), metrics={"uas": entry["uas"]})

    def log(self) -> list[dict[str, Any]]:
        """An entry for each evaluation so far."""
        path = self.folder / "log.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [json.loads(line) for line in lines]

    def trees(self) -> Heads | None:
        """The trees to train on, if they are there."""
        path = self.folder / "trees.npz"
        if not path.is_file():
            return None
        with np.load(path) as arrays:
            return list(np.split(arrays["heads"], arrays["ends"][:-1]))

    def keep_trees(self, trees: Heads) -> None:
        """Save the trees to train on; finding them takes a while."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / ".trees.npz"
        np.savez(temporary, heads=np.concatenate(trees), ends=np.cumsum([len(tree) for tree in trees]))
        temporary.replace(self.folder / "trees.npz")

    def _restore(self, epoch: int, template: State) -> State:
        state: State = self.checkpoints.restore(epoch, args=ocp.args.StandardRestore(jax.eval_shape(lambda: template)))
        return state

    def _write_log(self, entries: list[dict[str, Any]]) -> None:
        write_whole(self.folder / "log.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))


def _uas(metrics: dict[str, float]) -> float:
    return metrics["uas"]


def _settle(folder: Path, config: Config) -> None:
    """Write the configuration to a new folder; in an old one it must be the same."""
    path = folder / "config.json"
    if not path.is_file():
        return config.write(path)
    try:
        differences = config.differences(Config.read(path))
    except (TypeError, ValueError) as error:
        differences = [f"config.json cannot be read: {error}"]
    if differences:
        raise ValueError(
            f"{folder} holds a run of another configuration ({'; '.join(differences)}): "
            "write --name to use another folder, or delete this one"
        )
