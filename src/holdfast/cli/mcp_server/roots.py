"""The roots that a person named: everything outside is refused, whatever names it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from holdfast.confinement import OutsideRootsError
from holdfast.errors import ConfigError, HoldfastError
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.storage.location import Location, is_inside, parse_location

_SERVERS = re.compile(r"[A-Za-z0-9._-]+:[0-9]{1,5}(,[A-Za-z0-9._-]+:[0-9]{1,5})*")
_REFERENCES = ("env:", "jdbc:", "postgres:", "postgresql:")
_LONGEST = 4_096


class Roots:
    """Places that may be opened, and everything below them; links are followed before."""

    def __init__(self, roots: Sequence[str], *, allows_connections: bool = False) -> None:
        """Keep the roots as they are now: a link that is changed later leads outside.

        Raises:
            LocationError: One is not a location.
        """
        self.named = tuple(map(parse_location, roots))
        self._real = tuple(map(_real, self.named))
        self.allows_connections = allows_connections

    def missing(self) -> list[str]:
        """Return the roots on this machine that do not exist."""
        here = (str(each) for each in self.named if each.is_local)
        return [printable(redact(each)) for each in here if not os.path.lexists(each)]

    def permits(self, place: str) -> bool:
        """Return whether a path or URL is a root or below one."""
        try:
            found = _real(parse_location(place))
        except (HoldfastError, ValueError, OSError):
            return False
        return any(is_inside(found, root) for root in self._real)

    def place(self, text: str) -> str:
        """Return a location that a tool was called with, in its one form.

        Raises:
            OutsideRootsError: It is outside the roots, or only names where something is.
            LocationError: It is not a location.
        """
        if len(text) > _LONGEST or "\0" in text:
            raise ConfigError("The location is too long, or has a NUL character.")
        if text.strip().lower().startswith(_REFERENCES) or text.strip() in ("", "-"):
            raise OutsideRootsError(text)
        if not self.permits(text):
            parse_location(text)  # says better what is wrong with it
            raise OutsideRootsError(text)
        return str(parse_location(text))

    def program(self, text: str) -> str:
        """Return `FILE` or `FILE:NAME`, whose file is inside.

        Raises:
            OutsideRootsError: It is not.
        """
        if self.permits(text) and os.path.exists(text):  # noqa: PTH110 - as it was written
            return self.place(text)
        path, colon, name = text.rpartition(":")
        return f"{self.place(path)}:{name}" if colon else self.place(text)

    def source(self, text: str) -> str:
        """Return `[N=]WHERE`, whose place is inside; brokers only if connections are allowed.

        Raises:
            OutsideRootsError: It is not.
        """
        number, equals, where = text.partition("=")
        if not equals or not number.isdecimal():
            number, where = "", text
        before = f"{number}=" if number else ""
        if self.allows_connections and _SERVERS.fullmatch(where):
            return f"{before}{where}"
        return f"{before}{self.place(where)}"

    def sink(self, text: str) -> str:
        """Return `[STREAM=]WHERE`, whose place is inside.

        Raises:
            OutsideRootsError: It is not.
        """
        stream, equals, where = text.partition("=")
        if equals and "/" not in stream:
            return f"{stream}={self.place(where)}"
        return self.place(text)


def _real(location: Location) -> Location:
    """Return a location with every link on the way followed."""
    if not location.is_local:
        return location
    return Location(scheme=location.scheme, path=os.path.realpath(location.path))
