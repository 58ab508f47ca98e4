"""Caches that compute each value once, whichever threads ask."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from structdep._once import once


def test_threads_that_ask_at_once_get_what_one_of_them_computes() -> None:
    calls = []

    @once(maxsize=2)
    def slow(name: str) -> object:
        calls.append(name)
        time.sleep(0.05)
        return object()

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(slow, ["a", "b"] * 4))
    assert sorted(calls) == ["a", "b"] and len(set(found)) == 2
    assert slow("a") is found[0] and not slow.is_empty
    slow.cache_clear()
    assert slow.is_empty and slow("a") is not found[0]


def test_what_failed_is_tried_again() -> None:
    calls = []

    @once()
    def fails() -> None:
        calls.append(0)
        raise OSError("not yet")

    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            fails()
    assert len(calls) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:")
def test_a_process_that_is_forked_while_another_thread_computes_does_not_wait_for_it() -> None:
    begun = threading.Event()

    @once()
    def slow() -> int:
        begun.set()
        time.sleep(0.2)
        return 7

    thread = threading.Thread(target=slow)
    thread.start()
    begun.wait()
    child = os.fork()
    if not child:
        os._exit(slow())
    thread.join()
    for _ in range(100):
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
    assert process and os.waitstatus_to_exitcode(status) == 7
