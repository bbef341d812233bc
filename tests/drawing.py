"""Which tests of a run are drawn by its seed: samples of modules, and modules of groups.

What guards data always runs. What shows that a promise also holds elsewhere (a platform, a page,
another kind of damage) is drawn: `make nightly` runs all of it, and so does `HOLDFAST_ALL=1`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

ALL = "HOLDFAST_ALL" in os.environ
"""Set to run every test of which otherwise some are drawn."""
SHARE = int(os.environ.get("HOLDFAST_SHARE", "1"))
"""One test of so many is run."""
SEED = int(os.environ.setdefault("HOLDFAST_SEED", str(random.randrange(2**32))))

GROUPS: dict[str, tuple[int, tuple[str, ...]]] = {
    "tutorials": (1, ("test_tutorial", "test_sensors_tutorial", "test_sensors_reset_tutorial")),
    "platforms": (
        2,
        ("test_pods", "test_cluster_faults", "test_executor_faults", "test_task_kills"),
    ),
    "races": (2, ("test_lease_races", "test_driver_races", "test_delta_races", "test_clock_races")),
    "late drivers": (1, ("test_zombies", "test_delta_zombies")),
    "stores": (
        1,
        (
            "test_storage_hdfs",
            "test_storage_azure",
            "test_storage_gcs",
            "test_files_hdfs",
            "test_copying_s3",
        ),
    ),
    "Connect and Java": (
        1,
        (
            "test_connect",
            "test_connect_answers",
            "test_datasource_connect",
            "test_datasource_jvm",
        ),
    ),
    "what repeats": (1, ("test_repeatable", "test_repeatable_values")),
    "guides": (
        1,
        (
            "test_pipeline_guide",
            "test_prove_guide",
            "test_adopting_guide",
            "test_delta_guide",
            "test_backfill_guide",
        ),
    ),
    "damage": (
        1,
        (
            "test_no_false_alarm",
            "test_five_steps",
            "test_web_claims",
            "test_situations",
            "test_restart_damage",
            "test_error_reading",
            "test_damages",
        ),
    ),
    "whole pipelines": (
        1,
        (
            "test_undo_readers",
            "test_sensors",
            "test_backfill",
            "test_backfill_kills",
            "test_delta_features",
            "test_target_changes",
            "test_check",
            "test_retention",
        ),
    ),
    "slow starts": (
        1,
        ("test_start_requests", "test_moved_state", "test_deleted_checkpoint", "test_fleet"),
    ),
    "plain streams": (
        1,
        (
            "test_plain_plans",
            "test_plain_readers",
            "test_plain_given_back",
            "test_adopt_command",
            "test_check_program",
        ),
    ),
    "predictions": (
        2,
        (
            "test_restart_state",
            "test_restart_state_logs",
            "test_restart_state_rocksdb",
            "test_restart_changed",
            "test_restart_table",
        ),
    ),
    "forms of Delta tables": (
        1,
        ("test_delta_nested", "test_delta_names", "test_delta_types", "test_delta_tables"),
    ),
    "plans of other sinks": (
        1,
        ("test_database_plans", "test_files_plans", "test_kafka_plans"),
    ),
    "into Iceberg": (1, ("test_iceberg_sink",)),
    "into Kafka": (1, ("test_kafka_traps", "test_kafka_kills")),
    "proofs": (
        1,
        (
            "test_prove",
            "test_prove_postgres",
            "test_prove_tables",
            "test_prove_faults",
            "test_prove_histories",
            "test_prove_state",
            "test_batch_form",
        ),
    ),
}
"""Groups of modules with tests of Spark or drills, and how many modules of each are run."""
_DRAWN = ("spark", "drills")


def left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that are not drawn."""
    out = {each for each in items if _chance(each.nodeid).randrange(SHARE) > 0}
    return out if ALL else out | _outside_groups(items) | _outside_samples(items)


def _outside_groups(items: list[pytest.Item]) -> set[pytest.Item]:
    modules: set[str] = set()
    for group, (number, names) in GROUPS.items():
        modules |= set(names) - set(_chance(group).sample(names, number))
    return {each for each in items if each.path.stem in modules and each.path.parent.name in _DRAWN}


def _outside_samples(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return all but the sample of each module that is marked `sampled(n)`."""
    marked: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            marked.setdefault(item.path, []).append(item)
    out: set[pytest.Item] = set()
    for path, found in marked.items():
        (number,) = next(found[0].iter_markers("sampled")).args
        out |= set(found) - set(_chance(path.name).sample(found, min(number, len(found))))
    return out


def _chance(name: str) -> random.Random:
    return random.Random(f"{SEED} {name}")
