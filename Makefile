# make demo | test | test-all | sanitize | bench | lint | format. All in .venv, which the first of them makes.
VENV := .venv
INSTALLED := $(VENV)/.installed
BIN := $(VENV)/bin
PYTEST := $(BIN)/pytest -n 2 --dist worksteal

# Any python from 3.11 to 3.13, or the one that you name: make test PYTHON=/path/to/python3.12
PYTHON = $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& command -v $$python && break; done)
NO_PYTHON := no python3 from 3.11 to 3.13 on the PATH: install one, or name it, as in make test PYTHON=/path/to/python3

.PHONY: demo test test-all sanitize bench lint types format clean

demo: $(INSTALLED)
	$(BIN)/python experiments/demo.py

test: lint types
	$(PYTEST)

test-all: lint types sanitize
	$(PYTEST) -m "" --ignore=tests/test_threads.py

# The C++ under gcc's sanitizers: the tests of charts, with systems at random, where it is checked for faults of addresses and
# for undefined behaviour; then calls of several threads, which are checked for races. A finding ends the process.
SANITIZED_TESTS = $(wildcard $(addprefix tests/test_, chart_memory.py native.py real_numbers.py argmax.py values.py \
	gradients.py second_order.py own_systems.py random_systems*.py))
PRELOADED = $(shell for library in libasan.so libubsan.so libstdc++.so; do g++ -print-file-name=$$library; done)

sanitize: $(INSTALLED)
	STRUCTDEP_SANITIZE=1 ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(PRELOADED)" $(PYTEST) $(SANITIZED_TESTS)
	$(PYTEST) -m "" tests/test_threads.py

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

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
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .jax_cache build *.egg-info
