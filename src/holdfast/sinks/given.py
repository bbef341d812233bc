"""The sinks of a stream, as a user gives them: one, or several in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.errors import ConfigError
from holdfast.sinks.sink import SinkSpec


def as_sinks(into: SinkSpec | Sequence[SinkSpec]) -> tuple[SinkSpec, ...]:
    """Return the sinks that a stream is given: one, or several in their order.

    Raises:
        ConfigError: Something else was given.
    """
    given: object = (into,) if isinstance(into, SinkSpec) else into
    sinks: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    for sink in sinks:
        if not isinstance(sink, SinkSpec):
            raise ConfigError(
                'into= takes a sink such as hf.Postgres("env:DSN", table="readings") or '
                f'hf.Delta(path="…"), or a list of sinks, not {_shown(sink)}. A sink of your own '
                "is a subclass of hf.Sink."
            )
    return tuple(sinks)


def _shown(given: object) -> str:
    """Return what was given, without what it may hold: a text can be a DSN."""
    kind = type(given).__name__
    return (
        "a string"
        if isinstance(given, str)
        else f"a function ({kind})"
        if callable(given)
        else kind
    )
