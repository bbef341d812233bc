"""What a `DataStreamWriter` was told: its fields have no public way to read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_CHECKPOINT = "checkpointLocation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a chain of `df.writeStream` has set."""

    df: Any
    output_mode: str
    checkpoint: str | None
    """The option `checkpointLocation`; None without it."""
    has_function: bool
    """Whether `foreachBatch` or `foreach` was called."""


def read_writer(writer: Any) -> Told:
    """Read what a writer was told.

    Raises:
        AttributeError: It is not the writer of a classic session.
    """
    java = writer._jwrite
    options = _field(java, "extraOptions")
    checkpoint = options.get(_CHECKPOINT)
    functions = (_field(java, name) for name in ("foreachBatchWriter", "foreachWriter"))
    return Told(
        df=writer._df,
        output_mode=str(_field(java, "outputMode").toString()).lower(),
        checkpoint=str(checkpoint.get()) if checkpoint.isDefined() else None,
        has_function=any(each is not None for each in functions),
    )


def _field(java: Any, name: str) -> Any:
    """Return a private field of a Java object; its class is the same from Spark 3.5 to 4.3."""
    field = java.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)
