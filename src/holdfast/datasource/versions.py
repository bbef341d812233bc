"""Which versions of Spark have the data sources that are needed; tasks import this too."""

from __future__ import annotations

from typing import NoReturn


def refuse_version(text: str) -> NoReturn:
    """Refuse a version whose data sources for streams do not take Arrow's record batches.

    Raises:
        UnsupportedSparkError: Always.
    """
    from holdfast.spark.refusal import UnsupportedSparkError
    from holdfast.spark_versions import SUPPORTED, parse_version

    known = [each for each in SUPPORTED if has_arrow_writers(parse_version(each))]
    raise UnsupportedSparkError(
        f'This is Spark {text}; format("holdfast") needs data sources that take Arrow record '
        "batches of a stream.",
        how=f"Use PySpark {', '.join(known)}, or hf.start.",
    )


def has_arrow_writers(version: tuple[int, ...] | None) -> bool:
    """Return whether data sources of a version take Arrow's record batches of a stream."""
    return version is not None and version[:2] >= (4, 1)
