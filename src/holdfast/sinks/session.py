"""Stores as a Spark session reaches them: the same for checkpoints and for tables."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from holdfast.errors import ConfigError
from holdfast.spark.hadoop_configuration import HadoopConfiguration, default_file_system
from holdfast.spark.hadoop_files import HadoopReader
from holdfast.spark.hadoop_writer import HadoopWriter
from holdfast.storage.hadoop_settings import check_identity, from_session
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer, open_writer

_THROUGH_THE_SESSION = ("hdfs", "viewfs")
"""Schemes that only Hadoop's own client speaks, with tickets and addresses of the cluster."""


def place_of(spark: Any, text: str) -> Location:
    """Return the location that a user wrote: the same place for Holdfast and for Spark.

    Raises:
        LocationError: It is not a location.
        ConfigError: Spark would take it for another place.
    """
    location = parse_location(text)
    is_bare = location.scheme == "file" and not location.spelt
    if not is_bare and (location.bucket or location.scheme not in _THROUGH_THE_SESSION):
        return location
    default = default_file_system(spark)
    if is_bare:
        if default.startswith("file:"):
            return location
        own = f"file:{location.path}"
        there = f"{default.rstrip('/')}{location.path}"
        raise ConfigError(
            f"{text!r} has no scheme. Spark would look for it on {default}, and Holdfast on the "
            f"driver's disk. Give {f'{there}, or {own}' if there.startswith('hdfs:') else own}."
        )
    theirs = parse_location(default)
    if theirs.scheme != location.scheme:
        raise ConfigError(f"{text} names no host, and the session's fs.defaultFS is {default}.")
    return replace(location, bucket=theirs.bucket)


def reader_of(spark: Any, location: Location) -> Reader:
    """Return a reader of a location, with what the session knows of its store.

    Raises:
        ReadError: The session has no such file system.
        ConfigError: Its settings for the store are not accepted.
    """
    if location.scheme in _THROUGH_THE_SESSION:
        return HadoopReader(location, spark)
    return open_reader(location, _options(spark, location))


def writer_of(spark: Any, location: Location) -> Writer:
    """Return a writer of a location, with what the session knows of its store.

    Raises:
        ReadError: The session has no such file system.
        ConfigError: Its settings for the store are not accepted, or nothing can be written there.
    """
    if location.scheme in _THROUGH_THE_SESSION:
        return HadoopWriter(location, spark)
    return open_writer(location, _options(spark, location))


def _options(spark: Any, location: Location) -> dict[str, str]:
    if location.scheme == "file":
        return {}
    settings = HadoopConfiguration(spark)
    options = from_session(settings, location)
    check_identity(settings, location, options=options, environment=os.environ)
    return options
