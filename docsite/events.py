"""The table of events, from their types."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from importlib import import_module

from holdfast.events import Event

SUBJECTS = ("starts", "batches", "repairs", "event")


def events_of(subject: str) -> list[type[Event]]:
    """Return the events of a module that are emitted, in its order."""
    module = import_module(f"holdfast.events.{subject}")
    return [
        each
        for each in vars(module).values()
        if inspect.isclass(each)
        and issubclass(each, Event)
        and each.__module__ == module.__name__
        and each.text
    ]


def events_table(subject: str) -> list[str]:
    """Return the table of one module."""
    head = ["| event | point | level | what has happened | fields |", "| --- " * 5 + "|"]
    return [*head, *(_row(each) for each in events_of(subject))]


def _row(event: type[Event]) -> str:
    said = " ".join((inspect.getdoc(event) or "").partition("\n\n")[0].split())
    fields = " ".join(f"`{field.name}`" for field in dataclasses.fields(event))
    level = logging.getLevelName(event.level)
    point = f"`{event.point}`" if event.point else ""
    return f"| `{event.__name__}` | {point} | {level} | {said} | {fields} |"
