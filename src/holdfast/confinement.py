"""What this process may open: everything, unless it works for a program that must not see it all.

`holdfast mcp` answers an agent, and what it reads can name any other place: the record of a stream
names checkpoints and tables, and a job file names programs. So the roots that a person named are
enforced where something is opened, and not only where an argument is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from holdfast.errors import ConfigError, LocationError


class Confinement(Protocol):
    """Decides what may be opened."""

    allows_connections: bool
    """Whether brokers and databases may be asked."""

    def permits(self, place: str) -> bool:
        """Return whether a path or URL may be opened."""


class OutsideRootsError(LocationError):
    """A place is outside the roots that were named when the server was started."""

    code = "OUTSIDE_ROOTS"

    def __init__(self, place: str) -> None:
        super().__init__(
            place,
            why="It is outside the roots that this server was started with.",
            how="Ask the person who runs the server to add it: holdfast mcp --root LOCATION",
        )


NO_CONNECTIONS = "this server does not connect to brokers or databases; see `--allow-connect`"
_active: list[Confinement] = []
"""The newest one counts. Of the process, not of a thread: readers work in several threads."""


@contextmanager
def confined_by(confinement: Confinement) -> Iterator[None]:
    """Confine everything that this process opens, until the end."""
    _active.append(confinement)
    try:
        yield
    finally:
        _active.remove(confinement)


def is_confined() -> bool:
    """Return whether this process may not open everything."""
    return bool(_active)


def permits(place: object) -> bool:
    """Return whether a path, a URL or a location may be opened."""
    return not _active or _active[-1].permits(str(place))


def permits_connections() -> bool:
    """Return whether brokers and databases may be asked."""
    return not _active or _active[-1].allows_connections


def refuse_outside(place: object) -> None:
    """Refuse a path, a URL or a location that may not be opened.

    Raises:
        OutsideRootsError: It may not.
    """
    if not permits(place):
        raise OutsideRootsError(str(place))


def refuse_connections() -> None:
    """Refuse to ask a broker or a database, if that is not allowed.

    Raises:
        ConfigError: It is not.
    """
    if not permits_connections():
        raise ConfigError(f"{NO_CONNECTIONS[0].upper()}{NO_CONNECTIONS[1:]}.")
