"""Holdfast makes restarting a Spark Structured Streaming pipeline safe and boring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.reading import read_checkpoint

__all__ = ["__version__", "read_checkpoint"]

__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: neither Spark nor any store is loaded before."""
    if name == "read_checkpoint":
        from holdfast.reading import read_checkpoint  # noqa: PLC0415

        return read_checkpoint
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
