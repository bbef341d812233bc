"""What kind of session this is."""

from __future__ import annotations

from typing import Any


def is_classic(spark: Any) -> bool:
    """Return whether a session runs in this process; one of Spark Connect does not."""
    return hasattr(spark, "_jsparkSession")
