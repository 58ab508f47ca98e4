"""All tests: steady examples, and programs that are compiled once, whichever worker or run needs them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / ".jax_cache"))


@pytest.fixture(scope="module", autouse=True)
def forget_programs() -> Iterator[None]:
    """Compiled programs of a finished module would stay in memory: gigabytes in the end."""
    import jax

    yield
    jax.clear_caches()  # type: ignore[no-untyped-call]
