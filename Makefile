# Two commands matter: `make demo` shows the library at work, `make test` proves it.
# Every target makes the virtual environment first; that is instant when nothing changed.

PYTHON ?= .venv/bin/python
# Options for the benchmarks: make bench BENCH="--images DIR --json bench.jsonl"
BENCH ?=
# Options for pytest: make test PYTEST="-k phi"
PYTEST ?=

.PHONY: help setup demo test check bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    learn from a noisy picture, denoise it, write demo/index.html"
	@echo "make test    all checks and all tests"
	@echo "make check   style, types and import layers"
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
	$(PYTHON) -m pytest -q tests/test_layers.py

# -rs names the tests that were left out, and the system package that each of them wants.
test: check
	$(PYTHON) -m pytest -rs $(PYTEST)

bench:
	@sh scripts/bootstrap bench
	$(PYTHON) -m benchmarks all --quick $(BENCH)

clean:
	rm -rf .venv build dist demo bench .pytest_cache .mypy_cache .ruff_cache .hypothesis src/epitomes/kernels/_native.pyi
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
