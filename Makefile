PYTHON ?= python3
PY := .venv/bin/python

.PHONY: demo test test-all lint bench docs clean

demo: .venv/.ready  ## texts and a tune with gaps, filled: demo/out/index.html
	$(PY) -m demo

test: .venv/.ready  ## the tests, without the slow ones
	$(PY) -m pytest -n 2 --dist loadfile -m "not slow"

test-all: .venv/.ready  ## all tests
	$(PY) -m pytest -n 2 --dist loadfile

lint: .venv/.ready  ## style, then types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

bench: .venv/.ready  ## the table of docs/performance.md
	$(PY) benchmarks/strategies.py

docs: .venv/.ready  ## docs/cli.md, from the help of the commands
	$(PY) -m caesura.cli.docs > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "caesura needs Python 3.11 or later")'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache demo/out
