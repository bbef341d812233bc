"""The version of Spark that these tests run on, and which of several truths is its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyspark

from holdfast.spark_versions import SparkVersion, parse_version

T = TypeVar("T")
_FOUND = parse_version(pyspark.__version__)
assert _FOUND is not None, pyspark.__version__
SPARK: SparkVersion = _FOUND


@dataclass(frozen=True)
class NotThere:
    """A case that a version of Spark cannot have, with the reason."""

    reason: str


def of_version(since: Mapping[SparkVersion, T]) -> T:
    """Return what is true of this Spark, from the truths by the version that each begins with."""
    return since[max(version for version in since if version <= SPARK)]
