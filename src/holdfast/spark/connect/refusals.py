"""What is not supported over Spark Connect, each refused by its name."""

from __future__ import annotations

from typing import NoReturn

from holdfast.spark.refusal import UnsupportedSparkError
from holdfast.spark_versions import SUPPORTED

TESTED = ((4, 0), (4, 1), (4, 2), (4, 3))
"""The versions of Spark with which a stream can be guarded over Connect."""


def refuse(what: str, why: str) -> NoReturn:
    """Refuse something that needs a classic session.

    Raises:
        UnsupportedSparkError: Always.
    """
    raise UnsupportedSparkError(
        f"This is Spark Connect, and {what} is not supported there yet: {why}.",
        how="Create the session with SparkSession.builder.master(…) instead of .remote(…), on "
        f"PySpark {', '.join(SUPPORTED)}. On Databricks, use compute with dedicated access mode.",
        what=f"{what[0].upper()}{what[1:]} was refused; nothing was written.",
    )
