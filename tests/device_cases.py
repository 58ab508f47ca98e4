"""What runs in processes of its own, as the number of devices, and of processes, is settled when JAX starts."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from training_cases import TINY, small_treebank

import structdep as sd
from structdep._engines.xla import chart
from structdep.batching import on_devices
from structdep_parser.cli import train as train_command
from structdep_parser.data.corpus import Corpus
from structdep_parser.data.treebank import Treebank
from structdep_parser.parsers.registry import algorithm_of
from structdep_parser.training.devices import Devices, leave
from structdep_parser.training.trainer import Trainer

CONFIG = replace(TINY, tags="off", epochs=2)


def treebank(folder: str) -> Treebank:
    whole, small = Path(folder) / "whole", Path(folder) / "small"
    small.mkdir()
    return small_treebank(whole, small)


def losses(devices: int) -> list[float]:
    """Of the steps of an epoch."""
    with TemporaryDirectory() as folder:
        parser = algorithm_of(CONFIG)
        corpus, _ = Corpus.of(treebank(folder), CONFIG, parser.learns_parts)
    trees = parser.trees(corpus.splits["train"], corpus.vocabulary)
    trainer = Trainer(CONFIG, corpus, parser, trees, Devices(devices))
    state, found = trainer.devices.copied(trainer.start()), []
    made, targets = trainer.material(1)
    for batch in made:
        state, loss = trainer.advance(state, batch, targets)
        found.append(float(loss))
    return found


def charts(devices: int) -> list[str]:
    """What is wrong with charts of a batch that is shared by the devices, in several groups of sentences for each."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(chart, "GROUP_BYTES", 1)
    mesh = jax.make_mesh((devices,), ("batch",), axis_types=(AxisType.Auto,))
    shared = NamedSharding(mesh, PartitionSpec("batch"))
    rng, batch = np.random.default_rng(0), 20 * devices
    arrays = rng.normal(size=(batch, 6, 6)).astype(np.float32), rng.integers(1, 6, batch)
    wrong = []
    for query in (sd.marginals, sd.argmax):
        whole = jax.jit(partial(query, sd.charts.eisner()))
        expected, found = whole(*arrays), whole(*jax.device_put(arrays, shared))
        if not np.allclose(found, expected, atol=1e-6):
            wrong.append(f"{query.__name__}: other values")
        program = jax.jit(on_devices(whole, mesh)).lower(*jax.device_put(arrays, shared)).compile()
        found = program(*jax.device_put(arrays, shared))
        if not np.allclose(found, expected, atol=1e-6):
            wrong.append(f"{query.__name__}, on devices: other values")
        if not found.sharding.is_equivalent_to(shared, found.ndim):
            wrong.append(f"{query.__name__}, on devices: placed as {found.sharding}")
        if "all-gather" in program.as_text():
            wrong.append(f"{query.__name__}, on devices: devices send scores to each other")
    return wrong


EISNER, EVERY = sd.charts.eisner(), sd.spanning.all_trees()

QUERIES: dict[str, Callable[..., jax.Array]] = {
    "best score": lambda scores, heads, lengths: sd.inside(EISNER, scores, lengths),
    "argmax": lambda scores, heads, lengths: sd.argmax(EISNER, scores, lengths),
    "marginals": lambda scores, heads, lengths: sd.marginals(sd.charts.mhk(4), scores, lengths),
    "sample": lambda scores, heads, lengths: sd.sample(EISNER, scores, jax.random.key(0), lengths),
    "2-best": lambda scores, heads, lengths: sd.TreeDistribution(EISNER, scores, lengths).k_best(2).scores.T,
    "nll": jax.grad(lambda *arrays: sd.losses.nll(EISNER, *arrays).sum()),
    "risk": jax.grad(lambda *arrays: sd.losses.risk(EISNER, *arrays).sum()),
    "spanning argmax": lambda scores, heads, lengths: sd.argmax(EVERY, scores, lengths),
    "spanning nll": jax.grad(lambda *arrays: sd.losses.nll(EVERY, *arrays).sum()),
    "greedy": lambda scores, heads, lengths: sd.argmax(sd.greedy.second_order(), scores, lengths),
    "vmap": lambda scores, heads, lengths: jax.vmap(lambda t: sd.inside(EISNER, t * scores, lengths), out_axes=1)(
        np.arange(2.0, dtype=np.float32)
    ),
}


def sharded(devices: int) -> list[str]:
    """What is wrong with queries whose scores are sharded by an automatic or an explicit mesh, or in `shard_map`."""
    mesh = {
        kind: jax.make_mesh((devices,), ("batch",), axis_types=(kind,)) for kind in (AxisType.Auto, AxisType.Explicit)
    }
    rng, batch = np.random.default_rng(0), 2 * devices
    scores, lengths = rng.normal(size=(batch, 5, 5)).astype(np.float32), rng.integers(1, 5, batch)
    given = scores, np.asarray(sd.argmax(EISNER, -scores, lengths)), lengths
    wrong = []
    for name, query in QUERIES.items():
        expected = jax.jit(query)(*given)
        for kind, own in mesh.items():
            arrays = jax.device_put(given, NamedSharding(own, PartitionSpec("batch")))
            wrong += [f"{name}, {kind.name}: {fault}" for fault in faults(jax.jit(query), arrays, expected)]
        rows = PartitionSpec("batch")
        mapped = jax.jit(jax.shard_map(query, mesh=own, in_specs=rows, out_specs=rows))
        wrong += [f"{name}, shard_map: {fault}" for fault in faults(mapped, arrays, expected, "sample" in name)]
    return wrong + different_samples(mesh[AxisType.Explicit])


def faults(query: Any, arrays: Any, expected: jax.Array, is_random: bool = False) -> list[str]:
    """What is wrong with a query of sharded arrays: the devices of each part of the batch draw by one key."""
    program = query.lower(*arrays).compile()
    found, text = program(*arrays), program.as_text()
    sent = [name for name in ("all-gather", "all-to-all", "all-reduce", "collective-permute") if name in text]
    placed = [] if found.sharding.spec[0] == "batch" else [f"placed as {found.sharding}"]
    same = is_random or np.allclose(found, expected, atol=1e-5)
    return [*sent, *placed, *([] if same else ["other values"])]


def different_samples(mesh: Mesh) -> list[str]:
    """What is wrong where each device has the whole batch: the samples on all of them are to be the same."""
    with jax.set_mesh(mesh):
        alike = jax.device_put(np.zeros((9, 4, 4), np.float32), NamedSharding(mesh, PartitionSpec()))
        samples = jax.jit(lambda scores: sd.sample(sd.charts.eisner(), scores, jax.random.key(0)))(alike)
    if all(np.array_equal(copy.data, samples) for copy in samples.addressable_shards):
        return []
    return ["devices draw different samples of the same sentences"]


def command_line(arguments: list[str]) -> int:
    """`structdep train` with a small model and treebank."""
    train_command.config = lambda options: CONFIG
    with TemporaryDirectory() as folder:
        train_command.treebank = lambda options: treebank(folder)
        return train_command.main(arguments)


def main(case: str, *arguments: str) -> int:
    if case == "ud":
        return command_line(list(arguments))
    cases: dict[str, Callable[[int], Any]] = {"losses": losses, "charts": charts, "sharded": sharded}
    print(json.dumps([cases[case](int(devices)) for devices in arguments]))
    return 0


if __name__ == "__main__":
    sys.exit(leave(main(*sys.argv[1:])))
