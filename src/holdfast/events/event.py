"""What an event is, how it is emitted, and who listens: the log always, others when they ask to.

An event is a frozen value. It carries names, numbers and labels, never a secret, a row or an
exception. A listener is called by the thread that emits, between two steps of a protocol: one that
is slow makes the stream slow. What a listener raises is reported once and harms nothing; only a
drill's listener may raise or kill, because that is what it is for.

With the log at its usual level, an event costs about a microsecond of CPU: a batch emits about ten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

LOG = logging.getLogger("holdfast")
_CALLER = 3
"""Frames from the log call to the code that emitted: the log names that module and line."""


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Event:
    """Something that has just happened; each subclass is a frozen value with its fields.

    Plain Python: executors emit events too, and have no other package.
    """

    point: ClassVar[str] = ""
    """Its number in the protocol, or the name under which a drill can kill at it; empty: none."""
    level: ClassVar[int] = logging.DEBUG
    text: ClassVar[str] = ""
    """Its line in the log, with its fields in braces."""
    is_always_shown: ClassVar[bool] = False
    """Whether a program without any logging gets the line on its standard error."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Make each kind of event a value."""
        super().__init_subclass__(**more)
        dataclass(frozen=True)(cls)

    def __str__(self) -> str:
        return self.text.format(**vars(self)).rstrip()

    def points(self) -> tuple[str, ...]:
        """Return what a drill hears of it, in this order."""
        return (self.point,) if self.point else ()


Listener = Callable[[Event], None]


def write_log(event: Event) -> None:
    """Write an event to the log; the record has the event as its attribute `holdfast`."""
    if event.is_always_shown and not LOG.hasHandlers():
        if LOG.isEnabledFor(logging.WARNING):
            line = logging.LogRecord(LOG.name, event.level, "", 0, "holdfast: %s", (event,), None)
            logging.StreamHandler().handle(line)
    elif LOG.isEnabledFor(event.level):
        extra = {"holdfast": event}
        LOG.log(event.level, "holdfast: %s", event, extra=extra, stacklevel=_CALLER)


_listeners: tuple[tuple[Listener, bool], ...] = ((write_log, False),)
"""Each with whether it may raise. Replaced as a whole, so that a thread can emit meanwhile."""
_failed: set[int] = set()


def emit(event: Event) -> None:
    """Tell every listener what has just happened."""
    for listener, may_raise in _listeners:
        try:
            listener(event)
        except Exception as error:
            if may_raise:
                raise
            _report(listener, error)


def listen(listener: Listener, *, may_raise: bool = False) -> Callable[[], None]:
    """Send every later event of this process to a listener; return what ends that.

    Args:
        listener: Called with each event, by the thread in which it happens.
        may_raise: For drills: what it raises comes out of the protocol's step.
    """
    global _listeners  # noqa: PLW0603 - one process, one set of listeners
    mine = (listener, may_raise)
    _listeners = (*_listeners, mine)

    def end() -> None:
        global _listeners  # noqa: PLW0603
        _listeners = tuple(each for each in _listeners if each is not mine)

    return end


def _report(listener: Listener, error: Exception) -> None:
    """Say once that a listener has raised; it is called again all the same."""
    if id(listener) not in _failed:
        _failed.add(id(listener))
        name = getattr(listener, "__qualname__", type(listener).__name__)
        with suppress(Exception):  # it may be the log itself
            LOG.warning("holdfast: %s, a listener of events, raised %s", name, type(error).__name__)


class PointReached(Event):
    """Code outside the protocols, such as a user's function in a drill, is at a named point."""

    text = "reached {name}"
    name: str

    def points(self) -> tuple[str, ...]:
        """Return its name."""
        return (self.name,)


class Informed(Event):
    """A fact about a start that needs no action."""

    level = logging.INFO
    text = "{what}"
    what: str


class Warned(Event):
    """Something that is not wrong now, and can harm a later start or a later batch."""

    level = logging.WARNING
    text = "{what}"
    what: str
