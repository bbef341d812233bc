"""The points of a drill: the names under which it hears events, to pause or kill the process there.

A drill's own child process calls `listen`; no setting or environment variable can make a point do
anything. Code of a user's names points of its own with `reached`.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.events.event import Event, PointReached, emit
from holdfast.events.event import listen as listen_to_events

Listener = Callable[[str], None]


def _end_nothing() -> None:
    """End nothing: nobody listens yet."""


_end = _end_nothing


def reached(point: str) -> None:
    """Say that this thread is at `point` now."""
    emit(PointReached(point))


def tell(what: str, value: object) -> None:
    """Say a fact about where this thread is: `tell("batch", 3)` is `batch=3`."""
    reached(f"{what}={value}")


def listen(listener: Listener | None) -> None:
    """Send every later point of this process to `listener`, and to no other; None ends that."""
    global _end  # noqa: PLW0603 - one process, one drill
    _end()
    _end = _end_nothing
    if listener is None:
        return

    def hear(event: Event) -> None:
        for point in event.points():
            listener(point)

    _end = listen_to_events(hear, may_raise=True)
