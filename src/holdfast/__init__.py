"""Holdfast makes restarting a Spark Structured Streaming pipeline safe and boring."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.apply.rehearse import Rehearsal
    from holdfast.datasource.options import guard_options
    from holdfast.datasource.register import register
    from holdfast.errors import (
        ConfigError,
        HoldfastError,
        LocationError,
        MissingExtraError,
        ReadError,
        WriteError,
    )
    from holdfast.fleet.on_spark import scan_fleet
    from holdfast.linting import audit_code, lint_code
    from holdfast.plan.plan_file import NoPlan, Plan
    from holdfast.planning import (
        plan_backfill,
        plan_clone,
        plan_migrate,
        plan_move,
        plan_prune,
        plan_replay,
        plan_reset,
        plan_restore,
        plan_resume,
        plan_retire,
        plan_rewind,
        plan_snapshot,
    )
    from holdfast.proof.tables import prove_tables
    from holdfast.reading import diagnose, inspect, read_checkpoint
    from holdfast.record.leases import LeaseHeldError
    from holdfast.repairing import (
        apply_plan,
        backfill,
        continue_plan,
        plan_undo,
        read_plan,
        rehearse_plan,
    )
    from holdfast.sinks.database.sink import Database
    from holdfast.sinks.delta.log_store import spark_settings
    from holdfast.sinks.delta.sink import Delta
    from holdfast.sinks.files.sink import Files
    from holdfast.sinks.foreach_batch import ForeachBatch
    from holdfast.sinks.iceberg.sink import Iceberg
    from holdfast.sinks.kafka.sink import Kafka
    from holdfast.sinks.native.sink import Native
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.sinks.table_changed import TableChangedError
    from holdfast.sinks.user.sink import Sink
    from holdfast.spark.refusal import UnsupportedSparkError
    from holdfast.streams.batches import BatchRefusedError
    from holdfast.streams.doctor import doctor
    from holdfast.streams.external_table import ExternalTable
    from holdfast.streams.guard_writer import guard
    from holdfast.streams.pipeline import Pipeline, PipelineStartError
    from holdfast.streams.place import SharedCheckpointError
    from holdfast.streams.plain_check import check
    from holdfast.streams.query import LeaseLostError, stop_on_sigterm
    from holdfast.streams.query_end import AlreadyRunningError
    from holdfast.streams.recording import record_queries
    from holdfast.streams.refusal import StartRefusedError
    from holdfast.streams.start import start

__all__ = [
    "AlreadyRunningError",
    "BatchRefusedError",
    "ConfigError",
    "Database",
    "Delta",
    "ExternalTable",
    "Files",
    "ForeachBatch",
    "HoldfastError",
    "Iceberg",
    "Kafka",
    "LeaseHeldError",
    "LeaseLostError",
    "LocationError",
    "MissingExtraError",
    "Native",
    "NoPlan",
    "Pipeline",
    "PipelineStartError",
    "Plan",
    "Postgres",
    "ReadError",
    "Rehearsal",
    "SharedCheckpointError",
    "Sink",
    "StartRefusedError",
    "TableChangedError",
    "UnsupportedSparkError",
    "WriteError",
    "__version__",
    "apply_plan",
    "audit_code",
    "backfill",
    "check",
    "continue_plan",
    "diagnose",
    "doctor",
    "guard",
    "guard_options",
    "inspect",
    "lint_code",
    "plan_backfill",
    "plan_clone",
    "plan_migrate",
    "plan_move",
    "plan_prune",
    "plan_replay",
    "plan_reset",
    "plan_restore",
    "plan_resume",
    "plan_retire",
    "plan_rewind",
    "plan_snapshot",
    "plan_undo",
    "prove_tables",
    "read_checkpoint",
    "read_plan",
    "record_queries",
    "register",
    "rehearse_plan",
    "scan_fleet",
    "spark_settings",
    "start",
    "stop_on_sigterm",
]

_HOMES = {
    name: home
    for home, names in {
        "apply.rehearse": "Rehearsal",
        "datasource.options": "guard_options",
        "datasource.register": "register",
        "errors": "ConfigError HoldfastError LocationError MissingExtraError ReadError WriteError",
        "fleet.on_spark": "scan_fleet",
        "linting": "audit_code lint_code",
        "plan.plan_file": "NoPlan Plan",
        "planning": "plan_backfill plan_clone plan_migrate plan_move plan_prune plan_replay "
        "plan_reset plan_restore plan_resume plan_retire plan_rewind plan_snapshot",
        "proof.tables": "prove_tables",
        "reading": "diagnose inspect read_checkpoint",
        "record.leases": "LeaseHeldError",
        "repairing": "apply_plan backfill continue_plan plan_undo read_plan rehearse_plan",
        "sinks.database.sink": "Database",
        "sinks.delta.log_store": "spark_settings",
        "sinks.delta.sink": "Delta",
        "sinks.files.sink": "Files",
        "sinks.foreach_batch": "ForeachBatch",
        "sinks.iceberg.sink": "Iceberg",
        "sinks.kafka.sink": "Kafka",
        "sinks.native.sink": "Native",
        "sinks.postgres.sink": "Postgres",
        "sinks.table_changed": "TableChangedError",
        "sinks.user.sink": "Sink",
        "streams.batches": "BatchRefusedError",
        "streams.guard_writer": "guard",
        "streams.query_end": "AlreadyRunningError",
        "streams.doctor": "doctor",
        "streams.external_table": "ExternalTable",
        "streams.pipeline": "Pipeline PipelineStartError",
        "streams.place": "SharedCheckpointError",
        "streams.plain_check": "check",
        "streams.recording": "record_queries",
        "streams.query": "LeaseLostError stop_on_sigterm",
        "spark.refusal": "UnsupportedSparkError",
        "streams.refusal": "StartRefusedError",
        "streams.start": "start",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: neither Spark nor any extra is loaded before."""
    if name not in _HOMES and not name.startswith("plan_"):  # a goal that another package brings
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'planning')}"), name)


def __dir__() -> list[str]:
    """Return the public names, also those that nothing has imported yet."""
    return sorted({*globals(), *__all__})
