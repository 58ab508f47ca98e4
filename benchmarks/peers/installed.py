"""The libraries that are compared: which are installed, in which versions, and how to install the others."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path
from typing import Any, NamedTuple

import jax

from structdep._engines.cpu import library

PYPI = "`pip install '.[peers]'`, or `make peers`"
CHECKOUT = "it is not on PyPI; clone `{}` from GitHub, then `make peers {}=PATH`"


class Peer(NamedTuple):
    """A library: its module, its distribution if it has one, how to install it, and whether it runs on GPUs here."""

    module: str
    distribution: str = ""
    how: str = PYPI
    on_gpus: bool = False


PEERS = {
    "torch-struct": Peer("torch_struct", "torch-struct", on_gpus=True),
    "SuPar": Peer("supar", "supar"),
    "SynJax": Peer("synjax", "synjax", CHECKOUT.format("google-deepmind/synjax", "SYNJAX"), on_gpus=True),
    "MH_4 in Cython": Peer("acl18.mh4", how=CHECKOUT.format("tzshi/mh4-parser-acl18", "ACL18")),
    "Chu-Liu-Edmonds in C++": Peer("ufal.chu_liu_edmonds", "ufal.chu-liu-edmonds"),
    "UDPipe": Peer("ufal.udpipe", "ufal.udpipe"),
}


def version(peer: str) -> str:
    """Of its distribution, "installed" if it has none; empty if the library is not installed."""
    module, distribution, *_ = PEERS[peer]
    try:
        if importlib.util.find_spec(module) is None:
            return ""
        return importlib.metadata.version(distribution) if distribution else "installed"
    except (ModuleNotFoundError, importlib.metadata.PackageNotFoundError):
        return ""


def taking_part() -> list[str]:
    """Those that are installed and run on the devices that JAX has."""
    on_cpu = jax.default_backend() == "cpu"
    return [name for name, peer in PEERS.items() if version(name) and (on_cpu or peer.on_gpus)]


def machine() -> dict[str, Any]:
    """What results hold for."""
    found: dict[str, Any] = {
        "device": jax.devices()[0].device_kind if jax.default_backend() != "cpu" else processor(),
        "instruction set": library.instruction_set() if jax.default_backend() == "cpu" else "",
        "cores": f"{len(cores())} of {os.cpu_count()}",
        "times of trees": "processor time" if is_on_one_core() else "wall-clock time",
        "Python": platform.python_version(),
    }
    for name in ("structdep", "jax", "torch"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    return found | {name: version(name) for name in PEERS}


def cores() -> list[int]:
    """Those that this process may use, all where the system does not restrict processes."""
    allowed = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
    return sorted(allowed(0))


def is_on_one_core() -> bool:
    """Then processor times are what a call takes, and other processes on the core do not lengthen them."""
    return len(cores()) == 1 and jax.default_backend() == "cpu"


def processor() -> str:
    """Its name, where Linux says it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
