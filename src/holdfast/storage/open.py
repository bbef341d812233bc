"""From what people write to a reader."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from holdfast.errors import LocationError
from holdfast.storage.local import LocalReader
from holdfast.storage.location import Location, parse_location
from holdfast.storage.options import from_environment
from holdfast.storage.read import Reader


def open_reader(location: str | Location, options: Mapping[str, str] | None = None) -> Reader:
    """Return a reader of a directory on disk or in a bucket; nothing is read yet.

    Args:
        location: A path or URL, Hadoop's spellings too.
        options: obstore's options for a bucket; they win over the environment and AWS profiles.

    Raises:
        LocationError: The location is not one Holdfast can read.
        ConfigError: The options, or the AWS profile, are not accepted.
        MissingExtraError: The AWS profile needs boto3, which is not installed.
    """
    place = parse_location(location) if isinstance(location, str) else location
    if place.scheme == "file":
        return LocalReader(place)
    if place.scheme in ("webhdfs", "swebhdfs"):
        from holdfast.storage.webhdfs import WebHdfsReader  # noqa: PLC0415 - costs 20 ms

        return WebHdfsReader(place)
    if place.scheme in ("hdfs", "viewfs"):
        raise LocationError(
            str(place),
            why=f"{place.scheme}:// needs a Spark session, and this command has none.",
            how=_over_http(place),
        )
    from holdfast.storage.objects import ObjectReader, open_store  # noqa: PLC0415 - costs 12 ms

    return ObjectReader(place, open_store(place, store_options(place, options)))


def store_options(place: Location, options: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the options for a bucket: those given, and below them what the environment says.

    Raises:
        ConfigError: An AWS file cannot be parsed, or boto3 does not accept the profile.
        MissingExtraError: The AWS profile needs boto3, which is not installed.
    """
    given = dict(options or {})
    found = from_environment(os.environ, given=given) if place.scheme == "s3" else {}
    return {**found, **given}


def _over_http(place: Location) -> str:
    if place.scheme == "viewfs":
        return "Give what the view leads to, over HTTP: webhdfs://namenode:9870/…."
    host, port, _ = place.bucket.partition(":")
    given = f"webhdfs://{host or 'namenode'}:9870/{place.path}"
    if port:
        return f"Give the NameNode's web address: {given}"
    return (
        f"Give the web address of the active NameNode: {given}, or its host if "
        f"{host or 'the default'} is a nameservice (hdfs haadmin -getAllServiceState)."
    )
