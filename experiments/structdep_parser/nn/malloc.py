"""Memory that a process keeps between training steps."""

import ctypes

# From glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8


def tune_malloc() -> None:
    """Have malloc keep what is freed; to be called before other threads start.

    A training step on CPUs takes and frees some hundred megabytes. By default they go back to the system, which then
    hands them out anew page by page: a quarter of the step's time. Does nothing where the C library has no mallopt.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for option, value in ((M_MMAP_MAX, 0), (M_ARENA_MAX, 1), (M_TRIM_THRESHOLD, 2**31 - 1), (M_TOP_PAD, 2**28)):
            mallopt(option, value)
