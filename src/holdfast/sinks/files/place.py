"""Where a directory of files is, and whether batches can be published there in one step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.sinks.files.directory import Directory
from holdfast.sinks.session import mover_of, place_of
from holdfast.storage.location import Location, parse_location
from holdfast.storage.schemes import SCHEMES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.sinks.files.sink import Files


def location_of(sink: Files, spark: SparkSession | None) -> Location:
    """Return the location of the directory, the same through every link that leads to it.

    Raises:
        ConfigError: Nothing is above it, or the store cannot rename a directory in one step.
    """
    found = parse_location(sink.path) if spark is None else place_of(spark, sink.path)
    if not found.kind.moving:
        raise ConfigError(f"{sink.display_name} cannot be an exactly-once sink: {_why_not(found)}")
    if found.is_local:
        found = replace(found, path=os.path.realpath(found.path))
    if found.parent is None or not found.path.strip("/"):
        raise ConfigError(f"{sink.display_name} needs a directory of its own, not a whole store.")
    return found


def directory_of(
    sink: Files, spark: SparkSession | None, options: Mapping[str, str] | None = None
) -> Directory:
    """Return the directory of a sink, opened through the one that it is in.

    Raises:
        ConfigError: It cannot be a sink.
        LocationError: This process may not open it.
    """
    location = location_of(sink, spark)
    above = location.parent
    assert above is not None, "location_of refuses it"
    return Directory(mover_of(spark, above, options), location.name)


def _why_not(found: Location) -> str:
    """Return why nothing renames a directory there in one step, and what to use."""
    same = (row for row in SCHEMES.values() if row.store and row.store == found.kind.store)
    other = next((row.name for row in same if row.moving), None)
    if other is not None:
        return (
            "a batch is published by the rename of a directory, and through "
            f"{found.scheme}:// Holdfast renames none. Give the same place as {other}://."
        )
    return (
        "readers list the files themselves, and a store of objects shows one object after the "
        "other. No rename makes a batch visible at once, or keeps out a driver that was replaced; "
        f"this is {found.scheme}://. Use hf.Delta or hf.Iceberg there."
    )
