"""What a Spark session knows of a store: the same for checkpoints and for tables."""

from __future__ import annotations

from typing import Any

from holdfast.storage.location import Location
from holdfast.storage.options import from_hadoop


def store_options(spark: Any, location: Location) -> dict[str, str]:
    """Return what the session's `fs.s3a` settings say of a location's bucket."""
    if location.scheme != "s3":
        return {}
    return from_hadoop(dict(spark.sparkContext.getConf().getAll()), bucket=location.bucket)
