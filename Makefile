PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
LOCK := requirements/dev.txt
NEWEST := 3.13
OTHER_SPARKS := $(shell sed -n 's/^"spark-\(.*\)" = .*/\1/p' pyproject.toml)

.DEFAULT_GOAL := help
.PHONY: help dev lock wheel check format unit unit-repairs unit-rest unit-newest fuzz spark drill coverage drill-full nightly matrix predictions bench pipeline lab fixtures docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: .venv/.complete ## Create .venv with everything for development, from the locked requirements

.venv/.complete: $(LOCK) requirements/bootstrap.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes $(LOCK)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

LOCK_FLAGS ?=
lock: ## Lock what pyproject.toml asks for, versions kept (LOCK_FLAGS=--upgrade: the newest); no index addresses
	$(BIN)/uv pip compile pyproject.toml $(LOCK_FLAGS) --group dev --all-extras \
		--universal --python-version 3.11 --generate-hashes --no-header --quiet -o $(LOCK)
	echo "uv==$$($(BIN)/uv --version | cut -d' ' -f2)" | $(BIN)/uv pip compile - --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --quiet -o requirements/bootstrap.txt
	printf '%s\n' grpcio grpcio-status googleapis-common-protos zstandard pyyaml | $(BIN)/uv pip compile - \
		$(LOCK_FLAGS) --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
		-o requirements/pipelines.txt
	for version in $(OTHER_SPARKS); do \
		$(BIN)/uv pip compile pyproject.toml $(LOCK_FLAGS) --group spark-$$version --extra spark --extra postgres \
			--universal --python-version 3.11 --generate-hashes --no-header --quiet \
			-o requirements/spark-$$version.txt || exit; \
	done

check: ## Format, lint, types, imports, docs, house tests; no servers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m docsite.rule_pages
	$(BIN)/python -m zensical build --strict
	$(BIN)/python -m docsite.llms
	$(PYTEST) -q tests/house tests/docs

format: ## Rewrite the code to the project's format
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .

# Measured from the outside: pytest imports holdfast for its plugin before any plugin could measure it.
unit: unit-rest unit-repairs ## Tests without servers and without Spark, with branch coverage

BESIDE = tests/unit/apply tests/unit/checkpoint
unit-repairs: ## Of those, the tests of reading checkpoints, and of carrying out and undoing plans
	$(BIN)/coverage run -m pytest -q -m unit $(BESIDE)

unit-rest: ## Of those, all the others
	$(BIN)/coverage run -m pytest -q -m unit tests/unit $(BESIDE:%=--ignore %)

# pyenv's Python if there is one; else uv looks on PATH, and downloads it if it is not there.
.venv-$(NEWEST)/.complete: $(LOCK) pyproject.toml | .venv/.complete
	at=$$(pyenv prefix $(NEWEST) 2>/dev/null) && python=$$at/bin/python || python=$(NEWEST); \
		$(BIN)/uv venv --quiet --clear --python "$$python" $(@D)
	$(BIN)/uv pip sync --quiet --python $(@D)/bin/python --require-hashes $(LOCK)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --no-deps --no-build-isolation -e .
	touch $@

# The two searches through all interleavings take a minute and depend on no version of Python.
SHARE ?= 1
unit-newest: .venv-$(NEWEST)/.complete ## The same tests on the newest Python, without coverage; SHARE=3: one of three
	HOLDFAST_SHARE=$(SHARE) .venv-$(NEWEST)/bin/python -m pytest -q -m unit tests/unit -p no:cacheprovider \
		--deselect tests/unit/ledger/test_model.py::test_no_interleaving_loses_or_doubles_a_batch \
		--deselect tests/unit/ledger/test_strangers.py::test_no_change_from_outside_goes_unnoticed_or_locks_a_stream_out

wheel: ## Build the wheel and the LogStore's jar into dist/, install it into fresh environments, and use it there
	rm -rf dist
	$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist
	$(BIN)/python -m lab.log_store dist
	$(PYTEST) -v tests/wheel --durations=5

spark: ## Tests on real Spark, Kafka, PostgreSQL and S3
	$(BIN)/python -m lab check
	$(BIN)/coverage run --rcfile=tests/processes.toml -m pytest -v -m spark tests/lab tests/spark --durations=40

fuzz: ## Every file of every fixture checkpoint cut, emptied and flipped; hostile checkpoints
	$(BIN)/python -m tests.fuzz

drill: ## Tests that kill processes for real, sized for the gate
	$(BIN)/coverage run --rcfile=tests/processes.toml -m pytest -v -m drill tests/drills --durations=20

coverage: ## The lines and branches that unit, spark and drill have run together, since the last time it was asked
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered

SEED ?= 1
nightly: ## Every sample, campaign and benchmark whole, one by one, for a day; results in nightly/, compared with the last time
	$(BIN)/python -m campaigns.nightly --seed $(SEED)

drill-full: ## Every campaign about faults, judgements and repairs, for hours
	$(BIN)/python -m campaigns.nightly faults judgements repairs --seed $(SEED)

bench: ## Speed and cost: what everything costs, reading at scale
	$(BIN)/python -m campaigns.nightly speeds

pipeline: ## The reference pipeline on 100,000 messages without a server, compared row by row
	$(BIN)/python -m examples.sensors --messages 100000

matrix: ## Guarded streams on every supported version of Spark, killed and restarted
	$(BIN)/python -m lab matrix

predictions: ## What inspect predicts of damaged checkpoints, compared with every supported version of Spark
	$(BIN)/python -m lab predictions

lab: ## Start Kafka, PostgreSQL and S3 in the foreground and print their addresses
	$(BIN)/python -m lab up

fixtures: ## Make the checkpoints in tests/checkpoints anew, with real Spark 3.5 to 4.3
	$(BIN)/python -m fixtures.make

docs: ## Build the documentation into site/; look at it with: python -m http.server -d site --bind 127.0.0.1
	$(BIN)/python -m docsite.rule_pages
	$(BIN)/python -m zensical build --strict --clean
	$(BIN)/python -m docsite.llms

clean: ## Remove everything that is made, but not the download cache
	rm -rf .venv .venv-$(NEWEST) .cache site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
