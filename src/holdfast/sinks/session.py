"""Stores as a Spark session reaches them: the same for checkpoints and for tables.

Without a session, as in Spark's own Python workers, a store is opened as the command line opens it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.spark.port import existing_session, find_port, port_of
from holdfast.storage.hadoop_settings import check_identity, from_session
from holdfast.storage.location import Location, needs_session, parse_location
from holdfast.storage.moving import Mover
from holdfast.storage.open import load, open_reader
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer, open_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def place_of(spark: SparkSession | None, text: str) -> Location:
    """Return the location that a user wrote: the same place for Holdfast and for Spark.

    Raises:
        LocationError: It is not a location.
        ConfigError: Spark would take it for another place.
    """
    location = parse_location(text)
    is_bare = location.is_local and not location.spelt
    if not is_bare and (location.bucket or not location.kind.needs_session):
        return location
    port = find_port(spark)
    default = "file:///"
    if port is not None and spark is not None:
        default = port.default_file_system(spark)
    if is_bare:
        if parse_location(default).is_local:
            return location
        own = f"file:{location.path}"
        there = f"{default.rstrip('/')}{location.path}"
        raise ConfigError(
            f"{text!r} has no scheme. Spark would look for it on {default}, and Holdfast on the "
            f"driver's disk. Give {f'{there}, or {own}' if needs_session(there) else own}."
        )
    theirs = parse_location(default)
    if theirs.scheme != location.scheme:
        raise ConfigError(f"{text} names no host, and the session's fs.defaultFS is {default}.")
    return replace(location, bucket=theirs.bucket)


def reader_of(spark: SparkSession, location: Location) -> Reader:
    """Return a reader of a location, with what the session knows of its store.

    Raises:
        ReadError: The session has no such file system.
        ConfigError: Its settings for the store are not accepted.
    """
    if location.kind.needs_session:
        return port_of(spark).hadoop_reader(location, spark)
    return open_reader(location, store_options(spark, location))


def writer_of(spark: SparkSession | None, location: Location) -> Writer:
    """Return a writer of a location, with what the session knows of its store.

    Raises:
        ReadError: The session has no such file system.
        ConfigError: Its settings for the store are not accepted, or nothing can be written there.
    """
    if spark is None:
        return open_writer(location)
    if location.kind.needs_session:
        return port_of(spark).hadoop_writer(location, spark)
    return open_writer(location, store_options(spark, location))


def mover_of(
    spark: SparkSession | None, location: Location, options: Mapping[str, str] | None = None
) -> Mover:
    """Return what renames directories at a location whose store does so in one step.

    Plans that are made in Python come without a session: the one of their process has to do.

    Raises:
        LocationError: This process may not open it, or it needs a session.
        ReadError: The session has no such file system.
        ConfigError: It is not tested how that file system renames.
    """
    if location.kind.needs_session:
        spark = existing_session() if spark is None else spark
        if spark is not None:
            return port_of(spark).hadoop_mover(location, spark)
    found: Mover = load(location.kind.moving)(location, options)
    return found


def store_options(spark: SparkSession, location: Location) -> dict[str, str]:
    """Return what the session knows of the store of a location, as options of a reader.

    Raises:
        ConfigError: Its settings for the store are not accepted.
    """
    if location.is_local:
        return {}
    settings = port_of(spark).hadoop_settings(spark)
    options = from_session(settings, location)
    check_identity(settings, location, options=options, environment=os.environ)
    return options
