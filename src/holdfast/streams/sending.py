"""Has Spark write the batches of a start where it runs functions: what can be sent, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ConfigError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.sinks.collect import budget_of
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.port import check_own_sessions
from holdfast.streams.sent import Sent
from holdfast.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.evidence.stream import StreamEvidence
    from holdfast.streams.guard import Guard


class SentWriter:
    """A function for Spark that becomes the writer of the batches where Spark unpickles it."""

    def __init__(self, sent: Sent) -> None:
        """Stand for what is sent."""
        self.sent = sent

    def __reduce__(self) -> tuple[Callable[..., object], tuple[bytes]]:
        """Send the values; what receives them is named, so that no code of ours is in the text."""
        from holdfast.streams.far_end import receive

        return receive, (msgspec.json.encode(self.sent),)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write nothing: Spark never calls it here."""
        raise NotImplementedError


def check_sendable(sinks: Sequence[SinkSpec], spark: SparkSession) -> None:
    """Refuse sinks whose batches only the process of the start can write, each by its name.

    Args:
        sinks: Of the stream.
        spark: The session.

    Raises:
        ConfigError: One of them is.
        UnsupportedSparkError: One needs what this version of Spark does not have.
    """
    if len(sinks) > 1:
        raise ConfigError(
            "Several sinks in one stream are not supported over Spark Connect yet: a batch would "
            "be written aside under settings that your own program shares. Start one stream per "
            "sink, or use a classic session."
        )
    for sink in sinks:
        if (why := sink.why_not_sent) is not None:
            raise ConfigError(
                f"The server of Spark Connect cannot write the batches of {sink.display_name}: "
                f"{why}. hf.Postgres and hf.Delta are supported; a classic session takes every "
                "sink."
            )
        budget_of(spark)  # a wrong setting is refused now, and not in a batch
        if sink.needs_own_session:
            check_own_sessions(spark)  # likewise


def send(evidence: StreamEvidence, guard: Guard, *, output_mode: str) -> SentWriter:
    """Return the function of a started stream, for the process that writes its batches."""
    place = guard.place.checkpoint.location
    if not place.is_local:
        emit(
            Warned(
                f"{place} is in an object store, where a driver that was replaced can still write "
                "offsets/N late. Over Spark Connect that is noticed once the batch has ended, and "
                "not at all if the server dies in between"
            )
        )
    return SentWriter(
        Sent(
            version=__version__,
            stream=evidence.stream,
            generation=evidence.generation.number,
            binding=evidence.binding,
            record=str(guard.place.record.location),
            checkpoint=str(guard.place.checkpoint.location),
            sinks=guard.contract.sink_places,
            output_mode=output_mode,
            lease=guard.lease,
            first_batch=max(evidence.newest_planned, evidence.newest_committed + 1),
        )
    )
