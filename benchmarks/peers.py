"""`python -m benchmarks.peers`: projective trees beside torch-struct and SuPar, same scores, results checked equal.

Each of the two that is installed (`pip install '.[peers]'`) takes part. All use all cores by threads, or the GPU where
JAX does (SuPar has none), each its best batch.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from benchmarks.__main__ import CORES, machine
from benchmarks.measure import compiled, seconds

EISNER, SIBLINGS = sd.charts.eisner(), sd.charts.eisner(siblings=True)
Scores = NDArray[np.float32]
Program = Callable[[], Any]


class Work(NamedTuple):
    """A program that is run until its result is there, and what makes of that an array like ours."""

    run: Program
    like_ours: Callable[[Any], Any] = np.asarray


Peer = Callable[[Scores], Mapping[str, Work]]
"""From scores `[batch, n+1, n+1]` to programs by the work they do."""


def ours(scores: Scores) -> Mapping[str, Work]:
    both: dict[str, jax.Array] = {"arc": jnp.asarray(scores), "sibling": jnp.asarray(sibling_scores(scores))}
    return _ours("", EISNER, both["arc"]) | _ours("siblings, ", SIBLINGS, both)


def _ours(of: str, system: sd.DeductionSystem, given: Any) -> dict[str, Work]:
    work: dict[str, Callable[[Any], Any]] = {
        "log-partition": lambda s: sd.inside(system, s, semiring=sd.LogSum),
        "marginals": lambda s: sd.marginals(system, s),
        "argmax": lambda s: sd.argmax(system, s),
    }
    return {of + name: Work(compiled(one, given)[0], _arcs) for name, one in work.items()}


def _arcs(result: Any) -> Any:
    """The marginals of arcs, where there are others."""
    return np.asarray(result["arc"] if isinstance(result, dict) else result)


def sibling_scores(scores: Scores) -> Scores:
    """`[head, dependent, sibling]`; those of first dependents, which SuPar does not have, are 0."""
    nodes = scores.shape[-1]
    table = np.random.default_rng(1).normal(size=(len(scores), nodes, nodes, nodes)).astype(np.float32)
    table[:, np.arange(nodes), :, np.arange(nodes)] = 0
    return table


def torch_struct(scores: Scores) -> Mapping[str, Work]:
    """Its arcs from the root stand on the diagonal."""
    import torch
    from torch_struct import DependencyCRF

    words = np.arange(scores.shape[-1] - 1)
    on_diagonal = scores[:, 1:, 1:].copy()
    on_diagonal[:, words, words] = scores[:, 0, 1:]
    on_gpu = jax.default_backend() == "gpu"
    given = torch.tensor(on_diagonal, device="cuda" if on_gpu else "cpu")

    def until_there(compute: Callable[[], Any]) -> Program:
        def run() -> Any:
            result = compute().detach()
            if on_gpu:
                torch.cuda.synchronize()
            return result

        return run

    def with_root_row(arcs: Any) -> Scores:
        table = np.zeros_like(scores)
        table[:, 1:, 1:] = arcs.cpu().numpy()
        table[:, 0, 1:] = table[:, words + 1, words + 1]
        table[:, words + 1, words + 1] = 0
        return table

    def crf() -> Any:  # it writes into what it is given, which torch allows of no leaf that asks for a gradient
        return DependencyCRF(given.requires_grad_(True).clone(), multiroot=True)

    return {
        "log-partition": Work(until_there(lambda: crf().partition), lambda value: value.cpu().numpy()),
        "marginals": Work(until_there(lambda: crf().marginals), with_root_row),
        "argmax": Work(until_there(lambda: crf().argmax), lambda arcs: with_root_row(arcs).argmax(1)[:, 1:]),
    }


def supar(scores: Scores) -> Mapping[str, Work]:
    """Its scores are by dependent first."""
    import torch
    from supar.structs import Dependency2oCRF, DependencyCRF

    given = torch.tensor(np.ascontiguousarray(scores.swapaxes(1, 2)))
    siblings = torch.tensor(np.ascontiguousarray(sibling_scores(scores).swapaxes(1, 2)))
    lengths = torch.full((len(scores),), scores.shape[-1] - 1)

    def arcs(marginals: Any) -> Any:
        return (marginals[0] if isinstance(marginals, tuple) else marginals).detach().numpy().swapaxes(1, 2)

    def works(of: str, crf: Callable[[], Any]) -> dict[str, Work]:
        return {
            f"{of}log-partition": Work(lambda: crf().log_partition.detach()),
            f"{of}marginals": Work(lambda: crf().marginals, arcs),
            f"{of}argmax": Work(lambda: crf().argmax, lambda heads: heads.numpy()[:, 1:]),
        }

    first = works("", lambda: DependencyCRF(given, lengths, multiroot=True))
    return first | works("siblings, ", lambda: Dependency2oCRF((given, siblings), lengths, multiroot=True))


PEERS: dict[str, Peer] = {"torch_struct": torch_struct, "supar": supar}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--words", nargs="+", type=int, default=[20, 40, 80], help="sentence lengths")
    parser.add_argument(
        "--batch", nargs="+", type=int, default=[64, 128, 256], help="batches, of which the best counts"
    )
    parser.add_argument("--devices", type=int, default=1, help=CORES)
    parser.add_argument("--rounds", type=int, default=9, help="runs of each program (default: 9)")
    options = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", options.devices)
    known = PEERS if jax.default_backend() == "cpu" else {"torch_struct": torch_struct}
    peers = {name: peer for name, peer in known.items() if importlib.util.find_spec(name)}
    if not peers:
        parser.error(f"none of {', '.join(PEERS)} is installed: pip install '.[peers]'")
    lines = [f"{machine()}; {os.cpu_count()} cores; medians of {options.rounds} runs, the best batch of each.", ""]
    lines += [f"| work | n | ours, ms a sentence | {' | '.join(f'{p} | {p} / ours' for p in peers)} |"]
    print("\n".join([*lines, f"|---|--:|--:|{'--:|--:|' * len(peers)}"]), flush=True)
    for words in options.words:
        for name, times in measure(peers, words, options.batch, options.rounds).items():
            own, *others = (min(of_batches) for of_batches in times)
            cells = ["- | -" if math.isnan(other) else f"{other:.3g} | {other / own:.1f}" for other in others]
            print(f"| {name} | {words} | {own:.3g} | {' | '.join(cells)} |", flush=True)


def measure(peers: Mapping[str, Peer], words: int, batches: Sequence[int], rounds: int) -> dict[str, list[list[float]]]:
    """Milliseconds a sentence by work, then by program (ours first), then by batch."""
    result: dict[str, list[list[float]]] = {}
    for batch in batches:
        scores = np.random.default_rng(0).normal(size=(batch, words + 1, words + 1)).astype(np.float32)
        programs = [make(scores) for make in (ours, *peers.values())]
        for name in programs[0]:
            there = {peer: made[name] for peer, made in zip(("", *peers), programs, strict=True) if name in made}
            check_equal(name, [*there][1:], [work.like_ours(work.run()) for work in there.values()])
            runs = [{peer: seconds(work.run) for peer, work in there.items()} for _ in range(rounds)]
            times = [median(run.get(peer, math.nan) for run in runs) * 1e3 / batch for peer in ("", *peers)]
            for known, new in zip(result.setdefault(name, [[] for _ in times]), times, strict=True):
                known.append(new)
    return result


def check_equal(work: str, peers: Sequence[str], results: Sequence[Any]) -> None:
    """Raise AssertionError unless all results are ours."""
    for peer, found in zip(peers, results[1:], strict=True):
        np.testing.assert_allclose(found, np.asarray(results[0]), rtol=2e-3, atol=2e-3, err_msg=f"{work} of {peer}")


if __name__ == "__main__":
    main()
