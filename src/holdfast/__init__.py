"""Holdfast makes restarting a Spark Structured Streaming pipeline safe and boring."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.errors import (
        ConfigError,
        HoldfastError,
        LocationError,
        MissingExtraError,
        ReadError,
        WriteError,
    )
    from holdfast.proof.tables import prove_tables
    from holdfast.reading import diagnose, inspect, read_checkpoint
    from holdfast.record.leases import LeaseHeldError
    from holdfast.sinks.delta.sink import Delta
    from holdfast.sinks.foreach_batch import ForeachBatch
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.sinks.table_changed import TableChangedError
    from holdfast.sinks.user_sink import Sink
    from holdfast.streams.batches import BatchRefusedError
    from holdfast.streams.guard_writer import guard
    from holdfast.streams.heartbeat import AlreadyRunningError
    from holdfast.streams.own_table import OwnTable
    from holdfast.streams.pipeline import Pipeline, PipelineStartError
    from holdfast.streams.place import SharedCheckpointError
    from holdfast.streams.query import LeaseLostError, stop_on_sigterm
    from holdfast.streams.refusal import StartRefusedError, UnsupportedSparkError
    from holdfast.streams.start import start

__all__ = [
    "AlreadyRunningError",
    "BatchRefusedError",
    "ConfigError",
    "Delta",
    "ForeachBatch",
    "HoldfastError",
    "LeaseHeldError",
    "LeaseLostError",
    "LocationError",
    "MissingExtraError",
    "OwnTable",
    "Pipeline",
    "PipelineStartError",
    "Postgres",
    "ReadError",
    "SharedCheckpointError",
    "Sink",
    "StartRefusedError",
    "TableChangedError",
    "UnsupportedSparkError",
    "WriteError",
    "__version__",
    "diagnose",
    "guard",
    "inspect",
    "prove_tables",
    "read_checkpoint",
    "start",
    "stop_on_sigterm",
]

__version__ = "0.1.0.dev0"

_HOMES = {
    "AlreadyRunningError": "streams.heartbeat",
    "BatchRefusedError": "streams.batches",
    "ConfigError": "errors",
    "Delta": "sinks.delta.sink",
    "ForeachBatch": "sinks.foreach_batch",
    "HoldfastError": "errors",
    "LeaseHeldError": "record.leases",
    "LeaseLostError": "streams.query",
    "LocationError": "errors",
    "MissingExtraError": "errors",
    "OwnTable": "streams.own_table",
    "Pipeline": "streams.pipeline",
    "PipelineStartError": "streams.pipeline",
    "Postgres": "sinks.postgres.sink",
    "ReadError": "errors",
    "SharedCheckpointError": "streams.place",
    "Sink": "sinks.user_sink",
    "StartRefusedError": "streams.refusal",
    "TableChangedError": "sinks.table_changed",
    "UnsupportedSparkError": "streams.refusal",
    "WriteError": "errors",
    "diagnose": "reading",
    "guard": "streams.guard_writer",
    "inspect": "reading",
    "prove_tables": "proof.tables",
    "read_checkpoint": "reading",
    "start": "streams.start",
    "stop_on_sigterm": "streams.query",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: neither Spark nor any extra is loaded before."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, also those that nothing has imported yet."""
    return sorted({*globals(), *__all__})
