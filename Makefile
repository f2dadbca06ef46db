# Every target sets itself up: its own .venv, nothing global.
.DEFAULT_GOAL := help
.PHONY: help setup check test test-fast deflake demo bench docs format clean

BIN := .venv/bin
ARGS ?=
WORKERS ?= 2
HOME_ZONE := Asia/Shanghai
ZONES := America/New_York Pacific/Kiritimati
PURE := tests/unit/domain tests/unit/rules tests/unit/engine
# Workers get whole files in the order of collection, so that what a module sets up is set up once.
PYTEST := $(BIN)/python -m pytest -q --dist loadfile --no-loadscope-reorder

# Compiled modules are kept whatever the shell says: tests start many processes, and each would compile everything anew.
export PYTHONDONTWRITEBYTECODE :=

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup:  ## make .venv with the locked dependencies (fast when nothing changed)
	@scripts/setup.sh

check: setup  ## ruff, mypy, import rules, policies, freshness of the generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/costguard policies test policies
	$(BIN)/python scripts/docs.py --check

test: setup  ## the whole suite, Postgres and browser included, in one time zone, the pure tests then in two more
	@scripts/browser.sh
	TZ=$(HOME_ZONE) $(PYTEST) -n $(WORKERS) $(ARGS)
	@for zone in $(ZONES); do \
		echo "Pure tests under TZ=$$zone"; \
		TZ=$$zone $(PYTEST) -n $(WORKERS) --hypothesis-profile=zones $(wildcard $(PURE)) || exit 1; \
	done

test-fast: setup  ## unit tests only
	$(PYTEST) -n $(WORKERS) -x tests/unit $(ARGS)

deflake: setup  ## the suite twenty times, in changing distribution over workers
	@for i in $$(seq 20); do $(PYTEST) -x -n $$((i % 4 + 1)) --dist loadscope || exit 1; done

demo: setup  ## the simulated fleet, page at http://127.0.0.1:8787 (ARGS="--headless --minutes 480")
	@$(BIN)/costguard demo $(ARGS)

bench: setup  ## print the numbers that docs and spec promise
	@$(BIN)/python -m bench $(ARGS)

docs: setup  ## write the generated pages of docs/
	$(BIN)/python scripts/docs.py

format: setup  ## format and sort imports
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

clean:  ## remove what was generated, .venv included
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
