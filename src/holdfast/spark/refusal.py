"""The error of a session that cannot do what was asked."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.spark_versions import SUPPORTED


class UnsupportedSparkError(HoldfastError):
    """This Spark session cannot run a guarded stream."""

    code = "UNSUPPORTED_SPARK"

    def __init__(self, why: str, *, how: str = "", what: str = "") -> None:
        super().__init__(
            what=what or "The stream was not started; nothing was written.",
            why=why,
            how=how or f"Use a classic session of PySpark {', '.join(SUPPORTED)}.",
        )
