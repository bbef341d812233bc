"""The tables of the sensors pipeline, and what the messages must have become in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from examples.sensors.judge import rows_expected, rows_found
from examples.sensors.messages import Message
from examples.sensors.settings import Sensors
from holdfast.drills.drill import Answer, Seen


@dataclass(slots=True, kw_only=True)
class SensorsTables:
    """The tables of one pipeline; `Sinks` of a drill.

    No ledger of theirs tells of messages, so they are judged when all of these are through: from
    then on there is a session that reads them.
    """

    sensors: Sensors
    sent: list[Message]
    """All that are sent in the end."""
    spark: SparkSession | None = None

    @property
    def answers(self) -> Sequence[Answer]:
        """What each table must hold in the end."""
        expected = rows_expected(self.sensors, self.sent)
        return [Answer(sink=table, after=([], rows)) for table, rows in expected.items()]

    def look(self) -> Iterator[Seen]:
        """Read the tables; none before there is a session."""
        if self.spark is not None:
            for table, rows in rows_found(self.spark, self.sensors).items():
                yield Seen(sink=table, parts=None, rows=rows)
