# Everything a developer types. Works with GNU make 3.81.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
# The settings make a home when they are read; linting must not touch the developer's own.
SCRATCH := AGENTLINK_HOME=$(CURDIR)/.mypy_cache/home

.PHONY: setup up test demo bench lint lock soak dev
.DEFAULT_GOAL := setup

setup: $(VENV)/.installed

$(BIN)/python:
	@for python in python3.14 python3.13 python3.12 python3.11 python3; do \
	  if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec $$python -m venv --clear $(VENV); \
	  fi; \
	done; \
	echo "AgentLink needs Python 3.11 or newer with its venv module (on Debian: apt install python3-venv)." >&2; exit 1

$(VENV)/.installed: requirements.txt requirements-build.txt pyproject.toml | $(BIN)/python
	@echo "Installing AgentLink into $(VENV)"
	@$(PIP) install --require-hashes -r requirements.txt -r requirements-build.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

dev: $(VENV)/.installed-dev

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "Installing what the tests need into $(VENV)"
	@$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

up: setup
	@exec $(BIN)/agentlink up $(ARGS)

demo: setup
	@exec $(BIN)/agentlink demo $(ARGS)

# About five minutes; ARGS=--write writes docs/performance.md, ARGS="--only pages idle" measures some parts.
bench: dev
	$(BIN)/python -m tests.bench $(ARGS)

# First what needs no process of its own, on every core; then servers, two files at a time; then Chromium alone.
# What failed beside another file is run once more by itself: two cores can starve a real process; a fault fails again.
test: dev
	@chromium=`BIN=$(BIN) .ci/chromium`; status=0; \
	if [ -z "$$chromium" ]; then \
	  echo "Without Chromium the browser tests are left out."; \
	fi; \
	$(BIN)/python -m pytest -q -n auto -m "not soak and not process and not browser" $(ARGS) || status=1; \
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "process and not browser and not soak" $(ARGS) || \
	  $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none -m "process and not browser and not soak" $(ARGS) || status=1; \
	if [ -n "$$chromium" ]; then \
	  CHROMIUM="$$chromium" $(BIN)/python -m pytest -q -m "browser and not soak" $(ARGS) || status=1; \
	fi; \
	exit $$status

# Everything that takes minutes, large: nothing of it runs in `make test`. One test may take 20 minutes.
soak: dev
	$(BIN)/python -m pytest -q -m soak --timeout 1200 $(ARGS)

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(SCRATCH) $(BIN)/mypy
	$(BIN)/lint-imports
	find templates -name '*.html' -exec $(BIN)/djade --target-version 5.2 --check {} +

lock: dev
	$(COMPILE) pyproject.toml -o requirements.txt
	$(COMPILE) --extra dev -c requirements.txt pyproject.toml -o requirements-dev.txt
	echo 'setuptools>=77' | $(COMPILE) --no-annotate - -o requirements-build.txt
