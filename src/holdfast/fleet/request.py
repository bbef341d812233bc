"""What a fleet scan is asked for, and what it counts beside its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.fleet.shallow import MOST_REQUESTS
from holdfast.spark_versions import SparkVersion

WORKERS = 32
"""Checkpoints that are read at the same time."""
DEPTH = 8
"""Directories below a location that are searched, one inside the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRequest:
    """What to scan, and how."""

    locations: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the stores, as `--storage-option` gives them."""
    depth: int = DEPTH
    exclude: tuple[str, ...] = ()
    """Glob patterns of paths or names that are not searched."""
    owner: str | None = None
    """A regular expression; its first group, or all of what it matches, is the owner."""
    spark: SparkVersion | None = None
    """The version that will be started; by default the newest that can have written each."""
    requests: int = MOST_REQUESTS
    """The most that one checkpoint may cost."""
    workers: int = WORKERS


@dataclass(slots=True)
class FleetWalk:
    """What a scan did beside its rows; complete when the scan has ended."""

    directories: int = 0
    """Those that were searched and are no checkpoints."""
    excluded: int = 0
    too_deep: int = 0
    """Directories that were not searched because of the depth limit."""
    first_too_deep: str | None = None
