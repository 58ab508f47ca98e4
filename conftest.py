"""All tests: steady examples, and programs that are compiled once, whichever worker or run needs them."""

import ctypes
import gc
import os
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
# Small programs take long to compile, most of all in pieces, not to run. The older code generator, gone in jaxlib 0.11,
# is quicker at it.
FLAGS = ["--xla_backend_optimization_level=0", "--xla_cpu_parallel_codegen_split_count=1"]
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *FLAGS])

import jax  # noqa: E402  (it reads the environment)

import structdep as sd  # noqa: E402
from structdep._engines.cpu import library  # noqa: E402

MAPPINGS, PAGES = Path("/proc/self/maps"), Path("/proc/self/statm")


SOURCES = Path(library.__file__).parent
collect_ignore = ["docs/hooks.py", *([] if find_spec("torch") else ["structdep/torch.py"])]


def pytest_configure() -> None:
    """Tests of an engine that is not there, or older than its sources, would say nothing."""
    built = max((path.stat().st_mtime for path in library.installed().values()), default=0)
    written = max(path.stat().st_mtime for path in SOURCES.glob("*.[ch]*"))
    has_compiler = any(map(shutil.which, ("c++", "g++", "clang++")))
    if built < written and has_compiler and os.environ.get("STRUCTDEP_ENGINE") != "xla":
        pytest.exit(f"the compiled CPU engine is {'older than its sources' if built else 'missing'}: run `make engine`")


@pytest.fixture(scope="module", autouse=True)
def forget_programs() -> Iterator[None]:
    """Forget compiled programs when they are many: Linux gives a process 65530 mappings of memory, then XLA crashes.

    Or when they are large: all tests, the slow ones, too, have left each of two workers with 10 GB of them.
    """
    yield
    if not MAPPINGS.exists():
        return
    gigabytes = int(PAGES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e9
    if gigabytes > 4 or len(MAPPINGS.read_text().splitlines()) > 20_000:
        jax.clear_caches()  # type: ignore[no-untyped-call]
        gc.collect()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # otherwise the C library keeps what is free
            trim(0)


@pytest.fixture
def by_xla() -> Iterator[None]:
    """Charts are filled by XLA, on whatever device."""
    with sd.use_engine("xla"):
        yield


@pytest.fixture(params=["cpu", "xla"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The test is run with charts that are filled by the program in C++, where it can, and with those of XLA."""
    with sd.use_engine(request.param):
        yield request.param


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long to compile is slow only where XLA compiles it."""
    for item in items:
        by_xla = getattr(item, "callspec", None) is None or item.callspec.params.get("engine") != "cpu"
        if by_xla and item.get_closest_marker("slow_by_xla"):
            item.add_marker("slow")
