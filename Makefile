# Everything runs in one virtual environment, .venv; only Python 3.11+, make and git must be there.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test test-cluster test-engine lab fuzz check format lint types contract fresh index messages clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*##/\t/' | expand -t 16

$(READY): pyproject.toml requirements/dev.lock
	$(PYTHON) -c 'import sys; sys.exit("oomedic needs Python 3.11 or newer; set PYTHON=python3.12, say") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## the main job, on the runbook's own case
	@$(BIN)/python tools/demo.py

test: $(READY) ## every test that needs only Python
	$(BIN)/python -m pytest -q -n auto

test-cluster: $(READY) ## tests on a real Kubernetes control plane: needs Go 1.26, or KUBEBUILDER_ASSETS; minutes when it is built
	PYTHONPATH=tests/cluster $(BIN)/python -m plane.build > /dev/null
	$(BIN)/python -m pytest -q -m cluster tests/cluster

test-engine: $(READY) ## tests with a real vLLM on the CPU: some 6 GB outside the checkout, minutes when it is installed
	engine=$$($(BIN)/python tools/install_engine.py) && \
	OOMEDIC_ENGINE=$$engine $(BIN)/python -m pytest -q -m engine tests/engine

lab: $(READY) ## a cluster on this machine with a crash-looping vLLM, to try a fix on; needs Go 1.26
	PYTHONPATH=tests/cluster:tests/engine $(BIN)/python -m plane.lab

fuzz: $(READY) ## 100,000 generated and mutated logs: no traceback, no hang, no secret (an hour; RUNS=1000 for less)
	$(BIN)/python tools/fuzz.py --runs $(or $(RUNS),100000)

check: format lint types contract fresh test ## what every change must pass

format: $(READY) ## is everything formatted?
	$(BIN)/ruff format --check .

lint: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

contract: $(READY) ## imports only go down (docs/adr/0011)
	$(BIN)/lint-imports

fresh: $(READY) ## are the generated files (data index, docs) what their sources say?
	$(BIN)/python tools/build_index.py --check
	$(BIN)/python tools/catalogues.py --check
	$(BIN)/python tools/build_docs.py --check

index: $(READY) ## write the generated files anew, and take changed texts into the catalogues of translations
	$(BIN)/python tools/build_index.py
	$(BIN)/python tools/catalogues.py
	$(BIN)/python tools/build_docs.py

messages: $(READY) ## take changed texts into the catalogues of translations, and list what is to be translated
	$(BIN)/python tools/catalogues.py
	$(BIN)/python tools/catalogues.py --left pl

clean: ## remove the environment and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
