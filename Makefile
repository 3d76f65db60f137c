PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test test-slow test-all fuzz faults machines audit lock locked lint bench docs site release clean

FUZZ_SECONDS ?= 60
FUZZ_INPUTS ?= 1000000
KILLS ?= 1000

demo: .venv/.ready  ## fill gaps in texts, a tune and a table; the page is demo/out/index.html
	$(PY) -m demo

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name what; do \
	  printf 'make %-10s %s\n' "$$name" "$$what"; done

test: .venv/.ready  ## run the tests, except the slow ones
	$(PY) -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: .venv/.ready  ## run the slow tests
	$(PY) -m pytest -n 2 --dist loadfile -m slow

test-all: .venv/.ready  ## run all tests
	$(PY) -m pytest -n 2 --dist loadfile

fuzz: .venv/.ready  ## read a million damaged files: the table of docs/security.md
	$(PY) tests/fuzz.py $(FUZZ_INPUTS) --state .fuzz
	$(PIP) -e '.[fuzz]'
	CAESURA_FUZZ_EXAMPLES=1000 $(PY) -m pytest tests/test_fuzz.py
	set -e; for reader in $$(PYTHONPATH=tests $(PY) -c 'from hostile import READERS; print(*READERS)'); do \
	  $(PY) tests/coverage_fuzz.py $$reader -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=30; \
	done

faults: .venv/.ready  ## kill processes and cause other faults: the tables of docs/reliability.md; can be resumed
	$(PY) tests/kills.py $(KILLS) --state .kills
	$(PY) tests/faults.py 3

machines: .venv/.ready  ## kill one of three machines, made of network namespaces: the numbers of docs/scale.md; needs root
	$(PIP) -e '.[ray]'
	$(PY) tests/machine_faults.py train ray

audit: .venv/.ready  ## look for known vulnerabilities of the dependencies; needs the network
	$(PIP) pip-audit
	$(PY) .ci/audit.py

lock: .venv/.ready  ## write the versions that CI installs, with their hashes: .ci/lock.txt
	$(PIP) hatchling editables -e '.[ray]'
	$(PY) .ci/lock.py

locked:  ## create .venv with exactly the packages of .ci/lock.txt, for Python 3.11 on Linux
	$(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r .ci/lock.txt
	$(PIP) --no-deps --no-build-isolation -e .  # pip cannot hash a directory, so it comes after the others
	touch .venv/.ready

lint: .venv/.ready  ## check style and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m mypy --config-file benchmarks/mypy.ini benchmarks

bench: .venv/.ready  ## measure the table of docs/performance.md
	$(PY) benchmarks/strategies.py

docs: .venv/.ready  ## write docs/cli.md from the help of the commands
	$(PY) -m caesura.cli.docs > docs/cli.md.new
	mv docs/cli.md.new docs/cli.md

site: .venv/.ready  ## build the documentation as a site: site/index.html
	$(PIP) -e '.[docs]'
	mkdir -p docs/javascripts
	npm pack --silent --pack-destination docs/javascripts iframe-worker@1.0.4  # it lets the search work from file://
	tar -xzOf docs/javascripts/iframe-worker-1.0.4.tgz package/shim/index.js > docs/javascripts/iframe-worker.js
	rm docs/javascripts/iframe-worker-1.0.4.tgz
	$(PY) benchmarks/page_sounds.py
	$(PY) -m mkdocs build --strict

release: .venv/.ready  ## build the packages, check them, and try the wheel in clean environments
	$(PIP) build twine
	$(PY) .ci/release.py $(STEPS)

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "caesura needs Python 3.11 or later")'
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[dev]'
	touch $@

clean:  ## delete everything that these targets have made
	rm -rf .venv .fuzz .kills .pytest_cache .mypy_cache .ruff_cache demo/out dist docs/javascripts docs/sounds site
