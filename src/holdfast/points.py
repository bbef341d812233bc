"""Named points of the protocols, where a drill can stop or kill the process.

The protocols are numbered, and code that carries one says so as it goes: `reached("S5")`. In
production nobody listens and the call costs one comparison. Only a drill's own child process calls
`listen`; no setting or environment variable of a user's can make a point do anything.
"""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[[str], None]

_listener: Listener | None = None


def reached(point: str) -> None:
    """Tell the listener, if there is one, that this thread is at `point` now."""
    if _listener is not None:
        _listener(point)


def tell(what: str, value: object) -> None:
    """Tell the listener a fact about where this thread is: `tell("batch", 3)` is `batch=3`."""
    if _listener is not None:
        _listener(f"{what}={value}")


def listen(listener: Listener | None) -> None:
    """Send every later point and fact of this process to `listener`; None ends that."""
    global _listener  # noqa: PLW0603 - one process, one drill
    _listener = listener
