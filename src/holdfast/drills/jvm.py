"""The JVM of a drill's driver: it lives seconds, and would not earn back its second compiler."""

from __future__ import annotations

import os

_VARIABLE = "JDK_JAVA_OPTIONS"
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:-UsePerfData"
"""Without the size a JVM with one compiler has 48 MB for compiled code, which Spark fills."""


def jvm_environment() -> dict[str, str]:
    """Return the variable from which java takes the options of a drill.

    A user's own options come after them, and so do Spark's: the last of each kind wins.
    """
    return {_VARIABLE: f"{_OPTIONS} {os.environ.get(_VARIABLE, '')}".strip()}
