"""The devices that share a run's batches, those of one process or of several on different hosts."""

import sys
from os import _exit
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

AXIS = "batch"
LONGEST_PAUSE = 5 * 60
"""Seconds that a process may be silent (on a machine that is halted, say) before it is taken for dead."""
LONGEST_REPORT = 24 * 60 * 60
"""Seconds that other processes wait at their end for the first one, which evaluates."""


def join(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """Join the other processes of a run, before anything is computed; what is not given is told by the environment.

    Raises:
        ValueError: the environment does not tell it (that of Slurm, Open MPI or a TPU pod does), or it is too late.
    """
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            heartbeat_timeout_seconds=LONGEST_PAUSE,
            shutdown_timeout_seconds=LONGEST_REPORT,
        )
    except (ValueError, RuntimeError) as error:
        raise ValueError(f"{error} Write --coordinator HOST:PORT --processes N --process I") from None


def leads() -> bool:
    """Whether this process is the first of the run, the one that evaluates, writes and reports."""
    return jax.process_index() == 0


def agreed(tree: Any) -> Any:
    """What the first process has, in all of them; they have to ask at the same time."""
    return tree if jax.process_count() == 1 else multihost_utils.broadcast_one_to_all(tree)


def leave(status: int) -> int:
    """The status; a process that failed among several exits at once, since the others might never end."""
    if status and jax.distributed.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        _exit(status)
    return status


class Devices:
    """A mesh of devices, the same number of each process: each has a part of a batch, and all of the weights.

    Args:
        number: how many of each process; all where it is None.

    Raises:
        ValueError: there are not so many.

    Example:
        >>> one = Devices(1)
        >>> one.shared({"lengths": np.array([3, 1])}), len(one)
        ({'lengths': Array([3, 1], dtype=int32)}, 1)
    """

    def __init__(self, number: int | None = 1) -> None:
        there = jax.local_device_count()
        number = there if number is None else number
        if not 1 <= number <= there:
            raise ValueError(f"--devices {number}: there are {there}; write --devices all, or a number from 1 on")
        each = [jax.local_devices(process)[:number] for process in range(jax.process_count())]
        self.mesh = Mesh(np.array(each).ravel(), (AXIS,), axis_types=(AxisType.Auto,))
        self.everywhere = NamedSharding(self.mesh, PartitionSpec())  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return int(self.mesh.size)

    def shared(self, tree: Any) -> Any:
        """Arrays `[rows, ..]` of which each device gets as many rows; every process has to have them all."""
        return self._placed(tree, NamedSharding(self.mesh, PartitionSpec(AXIS)))  # type: ignore[no-untyped-call]

    def copied(self, tree: Any) -> Any:
        """Arrays that each device gets."""
        return self._placed(tree, self.everywhere)

    @staticmethod
    def own(tree: Any) -> Any:
        """What this process has of arrays that each device has."""
        return jax.tree.map(lambda leaf: leaf.addressable_data(0), tree)

    @staticmethod
    def _placed(tree: Any, sharding: NamedSharding) -> Any:
        def place(leaf: Any) -> jax.Array:
            whole = np.asarray(leaf)
            return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])

        return jax.tree.map(place, tree)
