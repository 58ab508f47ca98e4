"""Several devices, and several processes, train as one does."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AbstractMesh

from structdep.batching import on_devices
from structdep_parser.cli import train as train_command
from structdep_parser.training.devices import Devices, agreed, leads

TESTS = Path(__file__).parent


@contextmanager
def started(*arguments: str, devices: int) -> Iterator[subprocess.Popen[str]]:
    """A process with so many devices that runs a case of device_cases; it ends with the block."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    paths = os.pathsep.join(map(str, [TESTS.parent, TESTS.parent / "experiments", TESTS]))
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}
    command = [sys.executable, str(TESTS / "device_cases.py"), *arguments]
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output


def answer(case: str, *counts: int) -> Any:
    """What a case gives for each number of devices."""
    with started(case, *map(str, counts), devices=8) as process:
        return json.loads(finished(process).splitlines()[-1])


@pytest.fixture(scope="module")
def losses() -> list[list[float]]:
    """Of the steps of an epoch, with one device and with eight."""
    return answer("losses", 1, 8)


def test_eight_devices_train_as_one(losses: list[list[float]]) -> None:
    one, eight = losses
    assert len(one) >= 5 and len(set(one)) == len(one)
    np.testing.assert_allclose(eight, one, rtol=1e-5)


def test_two_processes_train_as_one(losses: list[list[float]], tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hosts = f"--coordinator 127.0.0.1:{port} --processes 2 --devices all --minutes 0 --epochs 40".split()
    runs = [["--lang", "demo", "--runs", str(tmp_path / name), "--name", "run"] for name in ("first", "second")]
    with (
        started("ud", *runs[0], *hosts, "--process", "0", devices=2) as first,
        started("ud", *runs[1], *hosts, "--process", "1", devices=2) as second,
    ):
        assert "Exact match" in finished(first) and "Exact match" not in finished(second)
    assert not (tmp_path / "second").exists()
    (line,) = (tmp_path / "first" / "run" / "log.jsonl").read_text().splitlines()
    entry = json.loads(line)
    assert entry["loss"] == pytest.approx(np.mean(losses[0]), rel=1e-5)


def test_a_process_without_its_number_is_told(tmp_path: Path) -> None:
    with started("ud", "--lang", "demo", "--runs", str(tmp_path), "--distributed", devices=1) as process:
        assert "Write --coordinator HOST:PORT --processes N --process I" in process.communicate(timeout=300)[1]
        assert process.returncode == 1 and not list(tmp_path.iterdir())


def test_charts_of_a_shared_batch_stay_on_their_devices() -> None:
    assert answer("charts", 8) == [[]]


def test_queries_of_sharded_scores_stay_on_their_devices() -> None:
    assert answer("sharded", 8) == [[]]


def test_one_device_and_one_process_are_as_ever() -> None:
    assert leads() and agreed("what is here") == "what is here"
    with jax.set_mesh(Devices(1).mesh):
        assert on_devices(jax.numpy.cumsum)(np.ones(3)).tolist() == [1, 2, 3]


def test_what_devices_cannot_do_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--lang", "demo", "--runs", str(tmp_path)]
    assert train_command.main([*command, "--devices", "99"]) == 1
    assert "--devices 99: there are 1; write --devices all" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        train_command.main([*command, "--devices", "some"])
    two = AbstractMesh((2,), ("batch",))
    with pytest.raises(ValueError, match="a batch of 5 has no equal part for each of 2 devices"):
        on_devices(jax.numpy.cumsum, two)(np.zeros((5, 3)))
