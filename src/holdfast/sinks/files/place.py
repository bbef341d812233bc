"""Where a directory of files is, and whether batches can be published there in one step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.sinks.files.directory import Directory
from holdfast.sinks.session import place_of
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.sinks.files.sink import Files
    from holdfast.storage.moving import Mover


def location_of(sink: Files, spark: SparkSession | None) -> Location:
    """Return the location of the directory, the same through every link that leads to it.

    Raises:
        ConfigError: Nothing is above it, or the store cannot rename a directory in one step.
    """
    found = parse_location(sink.path) if spark is None else place_of(spark, sink.path)
    if not found.kind.moving:
        raise ConfigError(
            f"{sink.display_name} cannot be an exactly-once sink: a batch is published by the "
            f"rename of a directory. Buckets have none, and elsewhere than on a disk it was not "
            f"run; this is {found.scheme}://. Use hf.Delta there."
        )
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
    mover: Mover = load(above.kind.moving)(above, options)
    return Directory(mover, location.name)
