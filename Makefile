PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
LOCK := requirements/dev.txt
OTHER_SPARKS := 4.0 4.1

.DEFAULT_GOAL := help
.PHONY: help dev lock check format unit damage spark drill drill-full bench pipeline lab fixtures docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: .venv/.complete ## Create .venv with everything for development, from the locked requirements

.venv/.complete: $(LOCK) requirements/bootstrap.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements/bootstrap.txt
	$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes $(LOCK)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

lock: ## Resolve the requirements anew (names, versions and hashes; no index addresses)
	$(BIN)/uv pip compile pyproject.toml --upgrade --group dev --extra spark --extra state --extra postgres --extra kafka \
		--universal --python-version 3.11 --generate-hashes --no-header --quiet -o $(LOCK)
	echo "uv==$$($(BIN)/uv --version | cut -d' ' -f2)" | $(BIN)/uv pip compile - --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --quiet -o requirements/bootstrap.txt
	for version in $(OTHER_SPARKS); do \
		$(BIN)/uv pip compile pyproject.toml --upgrade --group spark-$$version --extra spark --extra postgres \
			--universal --python-version 3.11 --generate-hashes --no-header --quiet \
			-o requirements/spark-$$version.txt || exit; \
	done

check: ## Format, lint, types, imports, docs, house tests; no servers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/mkdocs build --strict --quiet
	$(PYTEST) -q tests/house tests/docs

format: ## Rewrite the code to the house's format
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .

unit: ## Tests without servers and without Spark, with branch coverage
	$(PYTEST) -q -m unit tests/unit --cov --cov-report=term

spark: ## Tests on real Spark, Kafka, PostgreSQL and S3
	$(BIN)/python -m lab check
	$(PYTEST) -v -m spark tests/lab tests/spark --durations=15

damage: ## Every file of every fixture checkpoint cut, emptied and flipped; hostile checkpoints
	$(BIN)/python -m tests.damage

drill: ## Tests that kill processes for real, sized for the gate
	$(PYTEST) -v -m drill tests/drills --durations=15

SEED ?= 1
drill-full: ## The long one, of hours: every stream in every phase, crash states, races, changed tables, planted bugs, a soak
	$(BIN)/python -m benchmarks.every_drill
	$(BIN)/python -m benchmarks.crash_states --seed $(SEED)
	$(BIN)/python -m benchmarks.lost_answers --seed $(SEED)
	$(BIN)/python -m benchmarks.clock_races --seed $(SEED)
	$(BIN)/python -m benchmarks.guard_kills
	$(BIN)/python -m benchmarks.guard_server_kills
	$(BIN)/python -m benchmarks.guard_races
	$(BIN)/python -m benchmarks.delta_kills
	$(BIN)/python -m benchmarks.delta_races 30 $(SEED)
	$(BIN)/python -m benchmarks.task_faults
	$(BIN)/python -m benchmarks.executor_faults
	$(BIN)/python -m benchmarks.pipeline_kills --seed $(SEED)
	$(BIN)/python -m benchmarks.planted_bugs --seed $(SEED)
	$(BIN)/python -m campaigns.target_changes
	$(BIN)/python -m benchmarks.other_sinks
	$(BIN)/python -m benchmarks.long_life
	$(BIN)/python -m benchmarks.soak --seed $(SEED)

bench: ## The other figures of the README: damage of a restart, what everything costs, reading at scale
	$(BIN)/python -m benchmarks.cli_start
	$(BIN)/python -m benchmarks.checkpoint_scale
	$(BIN)/python -m benchmarks.delta_speed
	$(BIN)/python -m benchmarks.guard_cost
	$(BIN)/python -m benchmarks.kill_cost
	$(BIN)/python -m benchmarks.ledger_growth
	$(BIN)/python -m benchmarks.look_cost
	$(BIN)/python -m benchmarks.postgres_speed
	$(BIN)/python -m benchmarks.restart_damage
	$(BIN)/python -m benchmarks.restart_time

pipeline: ## The reference pipeline on 100,000 messages, judged exactly
	$(BIN)/python -m examples.sensors --messages 100000

lab: ## Start Kafka, PostgreSQL and S3 in the foreground and print their addresses
	$(BIN)/python -m lab up

fixtures: ## Make the checkpoints in tests/checkpoints anew, with real Spark 3.5 to 4.3
	$(BIN)/python -m fixtures.make

docs: ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

clean: ## Remove everything that is made, but not the download cache
	rm -rf .venv site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
