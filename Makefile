PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test test-slow test-all fuzz faults audit lint bench docs site release clean

READERS := text packed midi roll csv parquet model info recipe plan results checkpoint
FUZZ_SECONDS ?= 60

demo: .venv/.ready  ## texts and a tune with gaps, filled: demo/out/index.html
	$(PY) -m demo

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name what; do \
	  printf 'make %-10s %s\n' "$$name" "$$what"; done

test: .venv/.ready  ## the tests, without the slow ones
	$(PY) -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: .venv/.ready  ## the slow tests
	$(PY) -m pytest -n 2 --dist loadfile -m slow

test-all: .venv/.ready  ## all tests
	$(PY) -m pytest -n 2 --dist loadfile

fuzz: .venv/.ready  ## hostile files, many more of them: a minute of each reader, guided by coverage
	$(PIP) -e '.[fuzz]'
	CAESURA_FUZZ_EXAMPLES=1000 $(PY) -m pytest tests/test_fuzz.py
	set -e; for reader in $(READERS); do \
	  $(PY) tests/coverage_fuzz.py $$reader -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=30; \
	done

faults: .venv/.ready  ## measure the table of docs/reliability.md
	$(PY) tests/faults.py 3

audit: .venv/.ready  ## known vulnerabilities in what is installed; needs the network
	$(PIP) pip-audit
	$(PY) -m pip_audit --skip-editable

lint: .venv/.ready  ## style, then types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

bench: .venv/.ready  ## measure the table of docs/performance.md
	$(PY) benchmarks/strategies.py

docs: .venv/.ready  ## write docs/cli.md from the help of the commands
	$(PY) -m caesura.cli.docs > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md

site: .venv/.ready  ## the documentation as a site, without warnings: site/index.html
	$(PIP) -e '.[docs]'
	mkdir -p docs/javascripts
	npm pack --silent --pack-destination docs/javascripts iframe-worker@1.0.4  # it lets the search work from file://
	tar -xzOf docs/javascripts/iframe-worker-1.0.4.tgz package/shim/index.js > docs/javascripts/iframe-worker.js
	rm docs/javascripts/iframe-worker-1.0.4.tgz
	$(PY) -m mkdocs build --strict

release: .venv/.ready  ## all of a release but the upload: build, check, try the wheel in clean environments
	$(PIP) build twine
	$(PY) .ci/release.py

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "caesura needs Python 3.11 or later")'
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[dev]'
	touch $@

clean:  ## delete what these targets have made
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache demo/out dist site
