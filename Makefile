# Two commands matter: `make demo` shows the library at work, `make test` proves it.
# Every target makes the virtual environment first; that is instant when nothing changed.

PYTHON ?= .venv/bin/python
# Options for the benchmarks: make bench BENCH="--images DIR --json bench.jsonl"
BENCH ?=
# Options for pytest: make test PYTEST="-k phi"
PYTEST ?=

# Compiled modules are kept whatever the environment says: without them, each process compiles all that it imports.
export PYTHONDONTWRITEBYTECODE =
# Processes that run tests at once. Each of them uses one thread, so that they do not compete for the cores.
JOBS ?= 2
THREADS = EPITOMES_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# No test may be left after a choice such as -k phi: pytest then exits with 5, which is no failure here.
NONE_LEFT = [ $$? -eq 5 ]

.PHONY: help setup demo test quick check bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    learn from a noisy picture, denoise it, write demo/index.html"
	@echo "make test    all checks and all tests"
	@echo "make quick   one case of each test that is fast: under a minute"
	@echo "make check   style, types, import layers and docstrings (numpydoc)"
	@echo "make bench   short races against the peers (installs them)"
	@echo "make setup   the virtual environment .venv, with the library in it"
	@echo "make clean   remove what the other targets made"

setup:
	@sh scripts/bootstrap

demo: setup
	@$(PYTHON) -m epitomes.demo --output demo

check: setup
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy --strict src
	$(PYTHON) -m pytest -q tests/test_layers.py tests/test_docstrings.py -k "not examples"

# A test that hangs ends with its worker and its stack (a signal would not end one that waits for a child).
# -rs names the tests that were skipped, and the system package that each of them needs.
test: check
	$(THREADS) $(PYTHON) -m pytest -rs -n $(JOBS) --dist worksteal --timeout-method=thread -m "not serial" $(PYTEST) || $(NONE_LEFT)
	$(PYTHON) -m pytest -rs -m serial $(PYTEST) || $(NONE_LEFT)

quick: setup
	$(THREADS) $(PYTHON) -m pytest -q -n $(JOBS) --dist worksteal --quick $(PYTEST) || $(NONE_LEFT)

bench:
	@sh scripts/bootstrap bench
	$(PYTHON) -m benchmarks all --quick $(BENCH)

clean:
	rm -rf .venv build dist demo bench .pytest_cache .mypy_cache .ruff_cache .hypothesis src/epitomes/kernels/_native.pyi
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
