"""`hf.guard`: an existing chain of `df.writeStream`, guarded by one edit."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ConfigError, without_our_frames
from holdfast.sinks.given import as_sinks
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.plans import WriterOptions
from holdfast.spark.port import read_writer
from holdfast.streams.resolve import refuse_continuous
from holdfast.streams.start import Start

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_STARTED: weakref.WeakSet[object] = weakref.WeakSet()
"""Chains whose function is Holdfast's own: a cell that is run again guards them again."""


@without_our_frames
def guard(  # noqa: PLR0913 - what Spark and the guard need, each by name
    writer: DataStreamWriter,
    *,
    stream: str,
    into: SinkSpec | Sequence[SinkSpec],
    root: str | None = None,
    accept: str | None = None,
    takeover: bool = False,
) -> GuardedWriter:
    """Guard a chain of `df.writeStream` as it stands, with its trigger, output mode and options.

    The sink is `into`. A `checkpointLocation` of the chain is taken over.

    Args:
        writer: The chain, without its `.start()`.
        stream: As for `start`.
        into: As for `start`.
        root: As for `start`.
        accept: As for `start`.
        takeover: As for `start`.

    Raises:
        ConfigError: It is no such chain, has a function of its own as its sink, or a continuous
            trigger.
    """
    told = _read(writer)
    refuse_continuous(told.trigger)
    return GuardedWriter(
        Start(
            df=told.df,
            writer=writer,
            stream=stream,
            sinks=as_sinks(into),
            root=root,
            output_mode=told.output_mode,
            checkpoint=told.checkpoint,
            accept=accept,
            takeover=takeover,
        )
    )


def _read(writer: DataStreamWriter) -> WriterOptions:
    try:
        told = read_writer(writer)
    except AttributeError:
        raise ConfigError(
            "hf.guard takes df.writeStream with its options and without .start(), not "
            f"{type(writer).__name__}."
        ) from None
    if told.has_function and writer not in _STARTED:
        raise ConfigError(
            "The chain has a foreachBatch or foreach of its own. Leave it out, and pass the "
            "function as into=hf.ForeachBatch(function)."
        )
    return told


class GuardedWriter(msgspec.Struct, frozen=True):
    """A chain that is started as a guarded stream."""

    _start: Start

    @without_our_frames
    def start(self) -> StreamingQuery:
        """Start it as `hf.start` does; return Spark's `StreamingQuery`.

        Raises:
            StartRefusedError: Starting would lose or duplicate data.
            HoldfastError: The place, the sink or the session cannot be used.
        """
        _STARTED.add(self._start.writer)
        return self._start.go()
