# Two commands for a newcomer: `make demo` and `make test`. Python 3.11+, git and make are all they need.
# The long runs: `make simulate N=…` (histories), `make explore`, `make soak SECONDS=…`, `make bench`.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint bench setup simulate explore soak clean

demo: $(READY)
	@$(BIN)/lark-steward demo

test: $(READY) lint
	@$(BIN)/python -m pytest -n $$(( $$($(BIN)/python -c 'import os; print(os.cpu_count())') + 1 )) \
		--dist loadfile --no-loadscope-reorder -q

lint: $(READY)
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache
	@$(BIN)/basedpyright

bench: $(READY)
	@$(BIN)/python -m tests.bench

N ?= 100000
simulate: $(READY)
	@$(BIN)/python -m tests.simulation --histories $(N)

explore: $(READY)
	@$(BIN)/python -m tests.exploration

SECONDS ?= 300
soak: $(READY)
	@$(BIN)/python -m tests.soak --seconds $(SECONDS)

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "lark-steward needs Python 3.11 or newer; none was found." >&2; exit 1; }
	@echo "Setting up .venv (once, about a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q .venv/lib gateway providers manager returns || true
	@touch $(READY)

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
