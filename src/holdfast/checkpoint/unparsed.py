"""What becomes of a file that cannot be understood: a value that says why."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsed:
    """A file that is there and was not understood."""

    path: str
    reason: str
    """What was found and what was expected, as half a sentence: "the file is empty"."""
    spark_says: str | None = field(default=None, compare=False)
    """Words of the error that Spark's own reader fails with, where they are known."""
    unread: bool = False
    """True when the store did not let us read it: what it holds is not known."""
