# make demo | test | check | test-all | sanitize | bench | peers | docs | engine | lint | types | format.
# All in .venv, which the first makes; peers in build/peers, too.
VENV := .venv
INSTALLED := $(VENV)/.installed
BIN := $(VENV)/bin
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

# Any python from 3.11 to 3.13, or the one that you name: make test PYTHON=/path/to/python3.12
PYTHON = $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& command -v $$python && break; done)
NO_PYTHON := no python3 from 3.11 to 3.13 on the PATH: install one, or name it, as in make test PYTHON=/path/to/python3

.PHONY: demo test check test-all sanitize bench peers docs engine lint types format clean

# The instruction sets of the compiled CPU engine: native (the best one of this machine) or all.
SETS = native
CPU = structdep/_engines/cpu
CMAKE = PATH="$(abspath $(BIN)):$$PATH" cmake -G Ninja -S . -DPython_EXECUTABLE="$(abspath $(BIN))/python"
INSTALL = PATH="$(abspath $(BIN)):$$PATH" cmake --build $(1) && cmake --install $(1) --prefix .
ENGINE = $(CPU)/lib/.$(SETS)

demo: $(ENGINE)
	$(BIN)/python experiments/demo.py

test: lint types $(ENGINE)
	$(PYTEST)

# Lint, types, and the tests that failed last or whose files differ from the last commit.
CHANGED = $(shell git diff --name-only HEAD -- 'tests/test_*.py'; git ls-files --others --exclude-standard -- 'tests/test_*.py')
check: lint types $(ENGINE)
	$(if $(strip $(CHANGED)),$(PYTEST) $(CHANGED),@echo "no test file differs from the last commit")

test-all: lint types sanitize docs
	$(MAKE) engine SETS=all
	$(PYTEST) -m "" --ignore=tests/test_threads.py

# The C++ under gcc's sanitizers: the tests of charts, with systems at random, where it is checked for faults of addresses and
# for undefined behaviour; then calls of several threads, which are checked for races. A finding ends the process.
SANITIZED_TESTS = $(wildcard $(addprefix tests/test_, chart_memory.py native.py real_numbers.py argmax.py values.py \
	gradients.py second_order.py own_systems.py random_systems*.py))
PRELOADED = $(shell for library in libasan.so libubsan.so libstdc++.so; do g++ -print-file-name=$$library; done)

sanitize: $(ENGINE)
	$(CMAKE) -B build/sanitized -DSTRUCTDEP_SANITIZE=ON && $(call INSTALL,build/sanitized)
	STRUCTDEP_ISA=sanitized ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(PRELOADED)" $(PYTEST) $(SANITIZED_TESTS)
	$(PYTEST) -m "" tests/test_threads.py

engine: $(ENGINE)

$(ENGINE): CMakeLists.txt $(wildcard $(CPU)/*.cc $(CPU)/*.h) $(INSTALLED)
	$(CMAKE) -B build/engine -DSTRUCTDEP_INSTRUCTION_SETS=$(SETS) && $(call INSTALL,build/engine)
	mkdir -p $(@D) && touch $@

bench: $(ENGINE)
	$(BIN)/python -m benchmarks

# Other libraries beside structdep, measured in an environment of their own; writes $(OUT).md. An interrupted run continues when
# the same command is given again. OPTIONS are those of python -m benchmarks.peers: make peers OPTIONS='--only charts'.
# pip takes torch for CUDA, some GB. For the build without CUDA, set PIP_EXTRA_INDEX_URL to PyTorch's index of CPU wheels, which
# the page on installing PyTorch names. Two libraries are not on PyPI: clone them from GitHub and name the checkouts,
# SYNJAX=../synjax (google-deepmind/synjax) and ACL18=../mh4-parser-acl18 (tzshi/mh4-parser-acl18, compiled in place).
PEERS = build/peers
OUT = $(PEERS)/peers
CHECKOUTS = $(if $(SYNJAX),$(PEERS)/.synjax) $(if $(ACL18),$(PEERS)/.acl18)
PEERS_PIP = $(PEERS)/bin/python -m pip install --quiet -c constraints.txt -c constraints-peers.txt

peers: $(PEERS)/.installed $(CHECKOUTS) $(ENGINE)
	$(PEERS)/bin/python -m benchmarks.peers --out $(OUT) $(OPTIONS)

$(PEERS)/.installed: $(INSTALLED) constraints-peers.txt
	$(BIN)/python -m venv --clear $(PEERS)
	$(PEERS_PIP) jaxlib scikit-build-core setuptools
	$(PEERS_PIP) --no-build-isolation -e '.[peers]' -C wheel.cmake=false -C editable.mode=inplace
	touch $@

$(PEERS)/.synjax: $(PEERS)/.installed
	$(PEERS_PIP) $(SYNJAX)
	touch $@

NUMPY_HEADERS = $(shell $(PEERS)/bin/python -c 'import numpy; print(numpy.get_include())')
PACKAGES = $(shell $(PEERS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

$(PEERS)/.acl18: $(PEERS)/.installed
	$(PEERS_PIP) cython
	CFLAGS="-O2 -I$(NUMPY_HEADERS)" $(PEERS)/bin/cythonize -i $(ACL18)/acl18/mh4.pyx
	echo $(abspath $(ACL18)) > $(PACKAGES)/acl18.pth
	touch $@

# The site, in build/site; a broken link is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

$(VENV)/.docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]' --no-build-isolation -C wheel.cmake=false \
		-C editable.mode=inplace
	touch $@

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(INSTALLED): pyproject.toml constraints.txt
	$(eval BASE := $(PYTHON))
	$(if $(BASE),,$(error $(NO_PYTHON)))
	$(BASE) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt cmake jaxlib ninja scikit-build-core
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation -e '.[dev]' \
		-C wheel.cmake=false -C editable.mode=inplace
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .jax_cache build $(CPU)/lib
