"""COPY's bytes to the server as fast as it takes them, and no faster.

Left alone, libpq keeps in memory what the server has not taken yet, and moves all of it whenever a
little was sent. Waiting until a piece is gone costs nothing: the kernel's buffers hold what the
server does meanwhile.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from psycopg.abc import Buffer
from psycopg.copy import LibpqWriter
from psycopg.waiting import Ready, Wait

PIECE_BYTES = 1 << 17


class Sender(LibpqWriter):
    """Writes COPY data and waits until it is sent."""

    def write(self, data: Buffer) -> None:
        """Send some bytes; nothing of them is kept here."""
        for start in range(0, len(data), PIECE_BYTES):
            super().write(data[start : start + PIECE_BYTES])
            self.connection.wait(_flush(self._pgconn))

    def finish(self, exc: BaseException | None = None) -> None:
        """End COPY; of what went wrong here the server is told the kind alone.

        PostgreSQL closes the session when a client gives up with more than 10,000 bytes, and an
        error of Spark has that many: it would be hidden behind the lost session.
        """
        super().finish(None if exc is None else InterruptedError(type(exc).__qualname__))


def _flush(connection: Any) -> Generator[Wait, Ready | int, None]:
    while connection.flush():
        while not (yield Wait.W):
            pass
