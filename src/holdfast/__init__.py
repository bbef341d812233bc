"""Holdfast makes restarting a Spark Structured Streaming pipeline safe and boring."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.reading import read_checkpoint
    from holdfast.sinks.delta.sink import Delta
    from holdfast.sinks.foreach_batch import ForeachBatch
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.streams.pipeline import Pipeline
    from holdfast.streams.refusal import StartRefusedError
    from holdfast.streams.start import start

__all__ = [
    "Delta",
    "ForeachBatch",
    "Pipeline",
    "Postgres",
    "StartRefusedError",
    "__version__",
    "read_checkpoint",
    "start",
]

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: neither Spark nor any extra is loaded before."""
    homes = {
        "Delta": "sinks.delta.sink",
        "ForeachBatch": "sinks.foreach_batch",
        "Pipeline": "streams.pipeline",
        "Postgres": "sinks.postgres.sink",
        "StartRefusedError": "streams.refusal",
        "read_checkpoint": "reading",
        "start": "streams.start",
    }
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)
