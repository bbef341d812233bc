"""G1: what a start needs, found and checked by reading only.

Nothing here creates or changes anything: what is refused here leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.sinks.sink import SinkSpec, SinkWriter
from holdfast.spark.port import is_stream_writer, port_of
from holdfast.spark.refusal import UnsupportedSparkError
from holdfast.spark_versions import SparkVersion, parse_version, supported
from holdfast.storage.location import refuse_credentials

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORBIDDEN = "forbidden"
_TRIGGERS = {"processingTime", "once", "availableNow", "realTime"}
_CONTINUOUS = "continuous"


def check_session(spark: SparkSession) -> SparkVersion:
    """Return the version of a session that can run a guarded stream.

    Raises:
        UnsupportedSparkError: It cannot.
    """
    port = port_of(spark)
    version = parse_version(spark.version)
    if version is None or supported(spark.version) is None:
        raise UnsupportedSparkError(f"This is Spark {spark.version}.")
    port.check_version(version)
    return version


def check_streaming(df: DataFrame) -> None:
    """Refuse what is not a streaming DataFrame.

    Raises:
        ConfigError: It is not.
    """
    if is_stream_writer(df):
        raise ConfigError(
            "hf.start takes the streaming DataFrame itself, without .writeStream. To keep a chain "
            "of .writeStream, use hf.guard(writer, …).start()."
        )
    if not getattr(df, "isStreaming", False):
        raise ConfigError(
            f"A stream needs a streaming DataFrame, not {type(df).__name__} of a table or file "
            "that is read once: use spark.readStream instead of spark.read."
        )


def check_trigger(trigger: object) -> None:
    """Refuse a trigger that is not Spark's own options.

    Raises:
        ConfigError: It is not.
    """
    if isinstance(trigger, dict) and _CONTINUOUS in trigger:
        refuse_continuous(_CONTINUOUS)
    if trigger is None or (isinstance(trigger, dict) and set(trigger) <= _TRIGGERS):
        return
    raise ConfigError(
        f"trigger={trigger!r} is not a trigger. Write Spark's own options as a dictionary, for "
        'example trigger={"processingTime": "10 seconds"} or trigger={"availableNow": True}.'
    )


def refuse_continuous(trigger: str) -> None:
    """Refuse a continuous trigger, as it was given or as Spark prints it.

    Raises:
        ConfigError: It is one.
    """
    if _CONTINUOUS in trigger.lower():
        raise ConfigError(
            "A guarded stream takes no continuous trigger, with hf.Native neither: continuous "
            "processing has no micro-batches, and a guard is a guard of batches. Use "
            'trigger={"processingTime": "1 second"}, or run the query without a guard.'
        )


def check_reset(reset: str | None) -> str:
    """Return how a stream is locked against a reset; empty when it is not.

    Raises:
        ConfigError: It is not a word for that.
    """
    if reset not in (None, "allowed", FORBIDDEN):
        raise ConfigError(f'reset={reset!r} is neither "{FORBIDDEN}" nor "allowed".')
    return FORBIDDEN if reset == FORBIDDEN else ""


def resolve_sinks(
    sinks: Sequence[SinkSpec], df: DataFrame, *, stream: str, output_mode: str, undone: ExitStack
) -> tuple[SinkWriter, ...]:
    """Return the writers of a start, in the order of its sinks.

    Args:
        sinks: As the user wrote them.
        df: The streaming DataFrame.
        stream: Its name.
        output_mode: As for Spark.
        undone: Closes them when the start fails.

    Raises:
        ConfigError: There is no sink, or two of them are one.
        HoldfastError: A sink does not take the rows, or cannot be reached.
    """
    check_labels([sink.label for sink in sinks])
    writers: list[SinkWriter] = []
    for sink in sinks:
        writers.append(sink.writer_for(df, stream=stream, output_mode=output_mode))
        undone.callback(writers[-1].close)
    check_labels([writer.name for writer in writers])
    if len(writers) > 1 and (native := [each for each in writers if each.is_native]):
        raise ConfigError(
            f"{native[0].display_name} is written by Spark itself, so it must be the only sink of "
            "the stream. Use a stream of its own for it."
        )
    for writer in writers:
        if "://" in writer.recorded_place:
            refuse_credentials(writer.recorded_place)
    check_identities(writers)
    return tuple(writers)


def check_labels(labels: Sequence[str]) -> None:
    """Refuse a stream without a sink, and two sinks of one label.

    Raises:
        ConfigError: It is one of these, or a label holds credentials.
    """
    for label in labels:
        if "://" in label:  # else it is no location: a label may be `postgresql:gold@prod`
            refuse_credentials(label)
    if not labels or len(set(labels)) < len(labels):
        shown = ", ".join(labels) or "none"
        raise ConfigError(f"A stream needs sinks of different names; these are {shown}.")


def check_identities(writers: Sequence[SinkWriter]) -> None:
    """Refuse two sinks that are one: every row would be in it twice.

    Raises:
        ConfigError: Two of them are.
    """
    for writer, other in combinations(writers, 2):
        if writer.identity == other.identity:
            raise ConfigError(
                f"Two sinks of the stream are the same, {writer.display_name}: every row would be "
                "in it twice. Name it once."
            )


def highest_epoch(writers: Sequence[SinkWriter], stream: str) -> int | None:
    """Return the highest epoch that the sinks know of; None when no sink has a ledger.

    Raises:
        HoldfastError: A ledger cannot be read.
    """
    ledgers = [writer.ledger for writer in writers if writer.ledger is not None]
    return max((_epoch_in(ledger, stream) for ledger in ledgers), default=None)


def _epoch_in(ledger: LedgerStore, stream: str) -> int:
    row = ledger.read(stream)
    if isinstance(row, Unreadable) and row.error is not None:
        raise row.error
    return row.epoch if isinstance(row, LedgerRow) else ledger.last_epoch(stream)
