"""HDFS where there is no Spark session: how to reach it instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from holdfast.errors import LocationError
from holdfast.storage.location import Location


def refuse_reading(place: Location, options: Mapping[str, str] | None) -> NoReturn:
    """Name the address over HTTP.

    Raises:
        LocationError: Always.
    """
    del options
    raise LocationError(
        str(place),
        why=f"{place.scheme}:// needs a Spark session, and this command has none.",
        how=_over_http(place),
    )


def refuse_writing(place: Location, options: Mapping[str, str] | None) -> NoReturn:
    """Say what writes there.

    Raises:
        LocationError: Always.
    """
    del options
    raise LocationError(
        str(place),
        why=f"{place.scheme}:// is written through a Spark session, and this command has none.",
        how="To accept a finding, start the stream with HOLDFAST_ACCEPT in the driver's "
        "environment; on YARN: --conf spark.yarn.appMasterEnv.HOLDFAST_ACCEPT=….",
    )


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
