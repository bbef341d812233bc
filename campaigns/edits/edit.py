"""One edit: a stream as it ran, the same stream as somebody changed it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from holdfast.rules.compatibility import Compatibility
from lab import Kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the streams of one edit read."""

    place: Path
    kafka: Callable[[], Kafka]

    def files(self, name: str = "in") -> Path:
        """Return a directory of files that a stream reads."""
        found = self.place / name
        found.mkdir(exist_ok=True)
        return found

    @property
    def topic(self) -> str:
        """The name of a topic of its own, in small letters and hyphens."""
        return self.place.name


Build = Callable[[SparkSession, Scene], DataFrame]
Feed = Callable[[Scene, int], None]
"""Adds what the source gives in a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of the code or of the session, between two starts."""

    name: str
    before: Build
    after: Build
    feed: Feed
    expects: Compatibility
    mode: str = "append"
    mode_after: str = ""
    """By default the same."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the session, after the change."""

    def __str__(self) -> str:
        return self.name
