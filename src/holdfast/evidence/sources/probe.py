"""What a probe of a source gives: what was found, or why it was not looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from holdfast.evidence.sources.delta import DeltaSource
from holdfast.evidence.sources.files import FileSource
from holdfast.evidence.sources.iceberg import IcebergSource
from holdfast.evidence.sources.kafka import KafkaSource


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProbed:
    """A source that could not be looked at, or was not."""

    why: str
    """A sentence without a full stop: `--source 0=… does not say where the table is`."""


Found = KafkaSource | DeltaSource | IcebergSource | FileSource | NotProbed


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceProbe:
    """One source of the query, looked at."""

    source: str
    """Its place in the offset entries: `0`, or its name."""
    shown: str
    """As people know it: `kafka sensors`."""
    found: Found
    lossless_for: timedelta | None = None
    """For how long a resume still finds everything that it needs; None when that is not known.

    Zero when something is gone already.
    """
    lossless_by: str = ""
    """What that follows from: `sensors keeps records for 7 days`; empty when it is not known."""
