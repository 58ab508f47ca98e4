"""Caches for threads: the first caller computes a value, the others wait for it.

`functools.cache` is no lock: threads that ask at once each call the function, which registers twice, or compiles twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from threading import RLock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LOCK = RLock()
"""One for all caches, so that functions that call each other cannot wait for each other."""

if hasattr(os, "register_at_fork"):  # a forked process has no thread that could release the lock
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class Once(Generic[P, R]):
    """A function that is called once for each of the last `maxsize` arguments, by one thread at a time."""

    def __init__(self, function: Callable[P, R], maxsize: int | None) -> None:
        update_wrapper(self, function)
        self._cached = lru_cache(maxsize)(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        with LOCK:
            return self._cached(*args, **kwargs)  # type: ignore[arg-type]

    def cache_clear(self) -> None:
        self._cached.cache_clear()

    @property
    def is_empty(self) -> bool:
        return not self._cached.cache_info().currsize


def once(maxsize: int | None = None) -> Callable[[Callable[P, R]], Once[P, R]]:
    """Decorates a function of hashable arguments."""
    return lambda function: Once(function, maxsize)
