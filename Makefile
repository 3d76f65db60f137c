PYTHON ?= python3
PY := .venv/bin/python

.PHONY: demo test test-slow test-all fuzz faults audit lint bench docs clean

READERS := text packed midi roll csv parquet model info recipe plan results checkpoint
FUZZ_SECONDS ?= 60

demo: .venv/.ready  ## texts and a tune with gaps, filled: demo/out/index.html
	$(PY) -m demo

test: .venv/.ready  ## the tests, without the slow ones
	$(PY) -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: .venv/.ready  ## those
	$(PY) -m pytest -n 2 --dist loadfile -m slow

test-all: .venv/.ready  ## all tests
	$(PY) -m pytest -n 2 --dist loadfile

fuzz: .venv/.ready  ## hostile files, many more of them: a minute of each reader, guided by coverage
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	CAESURA_FUZZ_EXAMPLES=1000 $(PY) -m pytest tests/test_fuzz.py
	set -e; for reader in $(READERS); do \
	  $(PY) tests/coverage_fuzz.py $$reader -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=30; \
	done

faults: .venv/.ready  ## the table of docs/reliability.md
	$(PY) tests/faults.py 3

audit: .venv/.ready  ## known holes in what is installed; needs the network
	$(PY) -m pip install --quiet --disable-pip-version-check pip-audit
	$(PY) -m pip_audit --skip-editable

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
