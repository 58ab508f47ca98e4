"""What runs in processes of its own, as the number of devices, and of processes, is settled when JAX starts."""

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
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
from experiments import ud
from experiments.corpus import Corpus
from experiments.devices import Devices, leave
from experiments.parsers import parser_of
from experiments.training import Trainer
from experiments.treebank import Treebank
from structdep._engines.xla import chart
from structdep.batching import on_devices

CONFIG = replace(TINY, tags="off", epochs=2)


def treebank(folder: str) -> Treebank:
    whole, small = Path(folder) / "whole", Path(folder) / "small"
    small.mkdir()
    return small_treebank(whole, small)


def losses(devices: int) -> list[float]:
    """Of the steps of an epoch."""
    with TemporaryDirectory() as folder:
        parser = parser_of(CONFIG)
        corpus = Corpus.of(treebank(folder), CONFIG, parser.learns_parts)
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


def explicit(devices: int) -> list[str]:
    """What is wrong with queries where the mesh has explicit axes, as `jax.make_mesh` makes them."""
    mesh = jax.make_mesh((devices,), ("batch",), axis_types=(AxisType.Explicit,))
    rng, batch = np.random.default_rng(0), 2 * devices
    scores, lengths = rng.normal(size=(batch, 5, 5)).astype(np.float32), rng.integers(1, 5, batch)
    heads = np.asarray(sd.argmax(sd.charts.eisner(), -scores, lengths))
    nll = jax.grad(lambda *arrays: sd.losses.nll(sd.charts.eisner(), *arrays).sum())
    queries: dict[str, Callable[..., jax.Array]] = {
        "argmax": lambda scores, heads, lengths: sd.argmax(sd.charts.eisner(), scores, lengths),
        "spanning": lambda scores, heads, lengths: sd.argmax(sd.spanning.all_trees(), scores, lengths),
        "mh4": lambda scores, heads, lengths: sd.inside(sd.charts.mhk(4), scores, lengths, sd.LogSum),
        "gradient": nll,
        "sample": lambda scores, heads, lengths: sd.sample(sd.charts.eisner(), scores, jax.random.key(0), lengths),
        "greedy": lambda scores, heads, lengths: sd.argmax(sd.greedy.second_order(), scores, lengths),
        "2-best": lambda scores, heads, lengths: (
            sd.TreeDistribution(sd.charts.eisner(), scores, lengths).k_best(2).scores.T
        ),
    }
    wrong = []
    for name, query in queries.items():
        expected = jax.jit(query)(scores, heads, lengths)
        shared = NamedSharding(mesh, PartitionSpec("batch"))
        for mode in ("", ", where the mesh is set"):
            with jax.set_mesh(mesh) if mode else nullcontext():
                found = jax.jit(query)(*jax.device_put((scores, heads, lengths), shared))
            if not np.allclose(found, expected, atol=1e-6):
                wrong.append(f"{name}{mode}: other values")
            if not found.sharding.is_equivalent_to(shared, found.ndim):
                wrong.append(f"{name}{mode}: on devices as {found.sharding}")
    return wrong + different_samples(mesh)


def different_samples(mesh: Mesh) -> list[str]:
    """What is wrong where each device has the whole batch: the samples on all of them are to be the same."""
    with jax.set_mesh(mesh):
        alike = jax.device_put(np.zeros((9, 4, 4), np.float32), NamedSharding(mesh, PartitionSpec()))
        samples = jax.jit(lambda scores: sd.sample(sd.charts.eisner(), scores, jax.random.key(0)))(alike)
    if all(np.array_equal(copy.data, samples) for copy in samples.addressable_shards):
        return []
    return ["devices draw different samples of the same sentences"]


def command_line(arguments: list[str]) -> int:
    """`ud.py` with a small model and treebank."""
    ud.config = lambda options: CONFIG
    with TemporaryDirectory() as folder:
        ud.treebank = lambda options: treebank(folder)
        return ud.main(arguments)


def main(case: str, *arguments: str) -> int:
    if case == "ud":
        return command_line(list(arguments))
    cases: dict[str, Callable[[int], Any]] = {"losses": losses, "charts": charts, "explicit": explicit}
    print(json.dumps([cases[case](int(devices)) for devices in arguments]))
    return 0


if __name__ == "__main__":
    leave(main(*sys.argv[1:]))
