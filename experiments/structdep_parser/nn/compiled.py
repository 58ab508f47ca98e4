"""Functions compiled ahead for each shape of their arguments, and what a process sets before the first of them."""

import ctypes
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from structdep.batching import compiler_options
from structdep_parser.nn.stored_programs import stored

# From glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8


def prepare_process() -> None:
    """Have malloc keep freed memory, and keep compiled programs; before other threads start."""
    tune_malloc()
    cache_programs()


def tune_malloc() -> None:
    """Have malloc keep what is freed; to be called before other threads start.

    A training step on CPUs takes and frees some hundred megabytes. By default they go back to the system, which then
    hands them out anew page by page: a quarter of the step's time. Does nothing where the C library has no mallopt.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in ((M_MMAP_MAX, 0), (M_ARENA_MAX, 1), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 2**28)):
            mallopt(option, value)


def cache_programs() -> None:
    """Programs are kept in the user's cache, for other runs; or where, and as, the environment tells JAX.

    Also those that are compiled in less than a second, JAX's own limit: a model begins with some eighty of them.
    """
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # type: ignore[no-untyped-call]
    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "structdep"
    except RuntimeError as error:
        warnings.warn(
            f"compiled programs are not kept: {error}: name a folder by JAX_COMPILATION_CACHE_DIR", stacklevel=2
        )
    else:
        jax.config.update("jax_compilation_cache_dir", str(folder))  # type: ignore[no-untyped-call]


def xla_options() -> dict[str, Any]:
    """Options of compilations. On CPUs, XLA optimizes less than by default: compiling takes a fifth less time, and the
    programs are as fast.
    """
    return compiler_options() | ({"xla_backend_optimization_level": 1} if jax.default_backend() == "cpu" else {})


class Compiled:
    """`function` under jit; `seconds` is the time spent in compiling it, `spent` the time in running it.

    Where it has an `identity`, which says all that it depends on besides its arguments, its programs are kept for other
    processes, which need not trace it.

    Example:
        >>> import jax.numpy as jnp
        >>> double = Compiled(lambda x: 2 * x)
        >>> double(jnp.ones(3)), double(jnp.zeros(2)), len(double.programs)
        (Array([2., 2., 2.], dtype=float32), Array([0., 0.], dtype=float32), 2)
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.jitted = jax.jit(function, **options)
        self.programs: dict[Any, Callable[..., Any]] = {}
        self.seconds = self.spent = 0.0
        self.identity = ""

    def __call__(self, *args: Any) -> Any:
        """The result, when it is there."""
        program = self._program(args)
        start = time.perf_counter()
        result = jax.block_until_ready(program(*args))  # type: ignore[no-untyped-call]
        self.spent += time.perf_counter() - start
        return result

    def dispatch(self, *args: Any) -> Any:
        """The result, which is not waited for; its time is not in `spent`."""
        return self._program(args)(*args)

    def _program(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        leaves, structure = jax.tree.flatten(args)
        key = structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        if key not in self.programs:
            start = time.perf_counter()
            self.programs[key] = stored(self.identity, args, lambda: self.jitted.lower(*args).compile(xla_options()))
            self.seconds += time.perf_counter() - start
        return self.programs[key]
