"""Compiled programs in the user's cache, found by what they are made of: those that are there are not traced again.

JAX's own cache is asked for a program that has been traced and lowered, which takes longer than parsing a treebank.
"""

import hashlib
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental.compilation_cache.compilation_cache import reset_cache
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.sharding import NamedSharding

import structdep
from structdep._engines.choice import wanted
from structdep_parser.files import write_whole

Program = Callable[..., Any]
FOLDER = "programs"
DAYS = 30
"""How long a program is kept that nobody uses."""


def part(identity: str, name: str) -> str:
    """The identity of a part of what has this one; without one, it has none either."""
    return f"{identity} {name}" if identity else ""


def stored(identity: str, args: tuple[Any, ...], compiled: Callable[[], Any]) -> Program:
    """The program of this identity for arguments like these: from JAX's cache folder, or `compiled` and put there.

    Args:
        identity: all that the function depends on besides its arguments; nothing is kept where it is empty.
        args: the arguments.
        compiled: makes the program.
    """
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    is_asked = identity and folder is not None and jax.config.jax_enable_compilation_cache  # type: ignore[attr-defined]
    if not is_asked or jax.process_count() > 1:
        return compiled()
    path = Path(folder, FOLDER, _digest(identity, args))
    if (found := _read(path, args)) is not None:
        return found
    with _without_own_cache():
        program = compiled()
    _write(path, program)
    return program


@contextmanager
def _without_own_cache() -> Iterator[None]:
    """JAX's cache is off: programs that come from there cannot be written again."""
    jax.config.update("jax_enable_compilation_cache", False)  # type: ignore[no-untyped-call]
    reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", True)  # type: ignore[no-untyped-call]
        reset_cache()


def _read(path: Path, args: tuple[Any, ...]) -> Program | None:
    """None where there is no such program, or it cannot be read."""
    try:
        payload, output = pickle.loads(path.read_bytes())
        if b"lapack_" in payload:
            _load_lapack()
        devices, structures = _devices(args), (jax.tree.structure((args, {})), jax.tree.structure(output))
        program = deserialize_and_load(payload, *structures, devices[0].client, devices)
        path.touch()
    except Exception:  # a file that cannot be read is no error: the program is compiled again
        return None
    return program


@cache
def _load_lapack() -> None:
    """JAX loads LAPACK when it lowers a program that needs it. A kept one is not lowered, and would end in a fault."""
    jax.jit(jax.lax.linalg.lu).lower(np.zeros((1, 1), np.float32))


def _write(path: Path, program: Any) -> None:
    if _sources() != SOURCES:
        return
    try:
        payload, _, structure = serialize(program)
    except Exception:  # some programs cannot be written, such as those that share charts among devices
        return
    output = jax.tree.unflatten(structure, range(structure.num_leaves))
    try:
        write_whole(path, pickle.dumps((payload, output)))
        for other in path.parent.iterdir():
            if time.time() - other.stat().st_mtime > DAYS * 24 * 3600:
                other.unlink(missing_ok=True)
    except OSError:
        pass  # a cache that cannot be written is none


def _digest(identity: str, args: tuple[Any, ...]) -> str:
    leaves, structure = jax.tree.flatten(args)
    shapes = [(leaf.shape, str(leaf.dtype)) for leaf in leaves]
    settings = sorted(jax.config.values.items()), wanted()
    devices = [device.id for device in _devices(args)]
    asked = _surroundings(), settings, identity, shapes, str(structure), devices
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _devices(args: tuple[Any, ...]) -> list[jax.Device]:
    """The devices that a program of these arguments runs on, in order: those of the argument on most of them."""
    shardings = [leaf.sharding for leaf in jax.tree.leaves(args) if isinstance(leaf, jax.Array)]
    widest = max(shardings, key=lambda sharding: len(sharding.device_set), default=None)
    if widest is None:
        return jax.devices()[:1]
    if isinstance(widest, NamedSharding):
        return [*widest.mesh.devices.flat]
    return sorted(widest.device_set, key=lambda device: device.id)


@cache
def _surroundings() -> tuple[Any, ...]:
    """The software and the machine that programs are compiled for."""
    versions = [version(name) for name in ("jax", "jaxlib", "flax", "optax")]
    settings = sorted(item for item in os.environ.items() if item[0].startswith(("XLA_", "STRUCTDEP_", "NPROC")))
    device = jax.devices()[0]
    kind = device.platform, device.device_kind, device.client.platform_version
    return versions, SOURCES, settings, kind, jax.device_count(), _processor()


def _sources() -> list[tuple[str, int, int]]:
    """Our own files, as they are: their sizes and times."""
    packages = Path(structdep.__file__).parent, Path(__file__).parent.parent
    files = sorted(path for package in packages for ending in ("py", "so") for path in package.rglob(f"*.{ending}"))
    return [(str(path), (told := path.stat()).st_size, told.st_mtime_ns) for path in files]


SOURCES = _sources()
"""The files that this process runs: it keeps no programs once they have changed."""


def _processor() -> str:
    """What a CPU can do, where Linux tells: programs for another one end in faults."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")
