"""What runs at night, by group; each is a command that ends with 0 if everything held."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

_FAULTS = (
    *("every_drill", "crash_states", "lost_answers", "clock_races", "kills", "server_kills"),
    *("postgres_races", "delta_races", "task_faults", "executor_faults", "pods", "pipeline_kills"),
    *("target_changes", "restart_damage", "other_sinks", "long_life", "yarn_attempts"),
    *("sensors_on_yarn", "soak", "connect_kills", "files_kills", "iceberg_kills"),
    *("database_kills", "datasource_kills", "kafka_kills", "log_store_races"),
)
_JUDGEMENTS = (
    "damages",
    "situations",
    "edits",
    "plain_facts",
    "prove_faults",
    "prove_state",
    "planted",
    "mutants",
)
_REPAIRS = (
    *("histories", "repair_kills", "repair_races", "remedies", "mission", "five_steps"),
    *("plain_mission", "plain_alive", "given_back", "plain_given_back"),
    *("clean_stops", "first_mistakes"),
)
_SPEEDS = (
    *(
        "cli_start",
        "checkpoint_cost",
        "checkpoint_scale",
        "delta_speed",
        "guard_cost",
        "record_cost",
        "kill_cost",
        "ledger_growth",
    ),
    *("look_cost", "postgres_speed", "restart_time", "start_requests", "store_cost"),
    *("version_cost", "fleet_speed", "fleet_on_spark", "files_speed", "iceberg_cost"),
    *(
        "datasource_cost",
        "connect_cost",
        "sink_growth",
        "kafka_speed",
        "database_speed",
    ),
    *("parallel_ways", "large_batch_speed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One command."""

    group: str
    name: str
    words: tuple[str, ...]
    """What Python is called with."""
    hours: float = 3.0
    """After so long it is ended, and counts as not shown."""


def _modules(group: str, package: str, names: tuple[str, ...]) -> tuple[Run, ...]:
    return tuple(Run(group=group, name=name, words=("-m", f"{package}.{name}")) for name in names)


def _campaign(group: str, module: str, *words: str, name: str) -> Run:
    return Run(group=group, name=name, words=("-m", f"campaigns.{module}", *words))


def _tests(cost: str, *folders: str) -> Run:
    words = ("-m", "pytest", "-q", "-m", cost, *folders)
    return Run(group="samples", name=f"{cost}-tests", words=words, hours=5.5)


RUNS = tuple(
    chain(
        (_tests("spark", "tests/lab", "tests/spark"), _tests("drill", "tests/drills")),
        (
            Run(group="versions", name="matrix", words=("-m", "lab", "matrix")),
            Run(group="versions", name="predictions", words=("-m", "lab", "predictions")),
        ),
        _modules("faults", "campaigns", _FAULTS),
        (
            _campaign("faults", "pipeline_kills", "--kills", "25", "--repairs", name="repairs-too"),
            _campaign("judgements", "agent_cases", "reference", name="agent-cases"),
            _campaign("judgements", "prove_state", "faults", name="prove-state-faults"),
            _campaign("judgements", "prove_state", "random", name="prove-state-random"),
            _campaign("judgements", "prove_state", "kills", name="prove-state-kills"),
        ),
        _modules("judgements", "campaigns", _JUDGEMENTS),
        _modules("repairs", "campaigns", _REPAIRS),
        _modules("speeds", "benchmarks", _SPEEDS),
    )
)
GROUPS = tuple(dict.fromkeys(each.group for each in RUNS))
