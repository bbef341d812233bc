"""Errors that a client of S3 is told of a PUT, whether the store has taken it or not."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

from lab.faults.http_messages import Head, read_body
from lab.faults.proxy import Stream, Trigger

CONFLICT = (409, "Conflict", "ConditionalRequestConflict")
"""What Amazon S3 documents for a conditional PUT while another one is under way."""
INTERNAL = (500, "Internal Server Error", "InternalError")
Error = tuple[int, str, str]
"""Status, its words, and the code in the body."""


@dataclass(slots=True, kw_only=True)
class NextPut:
    """The next PUT that matches, and its repetitions, so many times in all."""

    pattern: str
    times: int
    happened: Trigger
    path: str | None = None
    """Of the first PUT, once it has come."""

    def takes(self, method: str, path: str) -> bool:
        """Return whether a request is one of them, and count it."""
        if method != "PUT" or self.times == 0:
            return False
        if self.path is None and re.search(self.pattern, path):
            self.path = path
        elif self.path != path:
            return False
        self.times -= 1
        return True


@dataclass(slots=True, kw_only=True)
class ToldError(NextPut):
    """An error for them."""

    error: Error
    landed: bool

    @property
    def reaches_store(self) -> bool:
        """Whether the PUT at hand goes on to the store: the first one, when it is to land."""
        return self.landed and not self.happened.is_fired

    async def tell(self, client: Stream, request: Head, *, asked: Head | None) -> None:
        """Answer; the connection ends after it.

        Args:
            client: Who is told.
            request: The PUT.
            asked: What the store has said to it; None: it does not get to the store.
        """
        if asked is None:
            if "expect" in request.fields:
                await client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await read_body(client, request.fields)  # as a store does
        if asked is None or asked.first_line.split(" ")[1].startswith("2"):
            self.happened.fire()
        status, words, code = self.error
        body = f"<Error><Code>{code}</Code><Message>{words}</Message></Error>"
        head = f"HTTP/1.1 {status} {words}\r\nContent-Type: application/xml\r\n"
        ending = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        await client.send((head + ending).encode())


class ToldErrors:
    """What clients of one proxy are told."""

    def __init__(self) -> None:
        """Tell nothing yet."""
        self._lock = threading.Lock()
        self._next: ToldError | None = None

    def tell(self, pattern: str, error: Error, *, landed: bool, times: int = 1) -> Trigger:
        """Answer the next PUT that matches, and its repetitions, with an error.

        Args:
            pattern: Regular expression, searched in the path without its query.
            error: What is told.
            landed: Whether the store takes the first of them all the same.
            times: How many in a row.

        Returns:
            What tells that the first was answered so.
        """
        happened = Trigger(f"PUT {pattern} to be answered with {error[0]}")
        with self._lock:
            self._next = ToldError(
                pattern=pattern, error=error, landed=landed, times=times, happened=happened
            )
        return happened

    def stop(self) -> None:
        """Tell no more errors."""
        with self._lock:
            self._next = None

    def of(self, method: str, path: str) -> ToldError | None:
        """Return what a request is answered with; None when it gets the store's own answer."""
        with self._lock:
            found = self._next
            return found if found is not None and found.takes(method, path) else None
