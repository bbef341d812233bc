"""An HTTP proxy in front of S3 that kills the driver at the n-th request that matches.

*Before*: the request never reaches the store. *After*: the store has answered, and the client dies
before it reads the answer. Or the client lives on: the answer is lost on its way, or the request
is held until a test lets it go on. Bytes pass unchanged, the Host header too, so signatures stay
valid; an HTTP library would write the requests anew.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from holdfast.drills.kill.points import OutsidePoint, When
from lab.faults.http_messages import BODILESS, Head, pass_body, read_head
from lab.faults.proxy import Proxy, Stream, Trigger
from lab.faults.s3_answers import NextPut, ToldErrors

_TAKEN = (
    b'HTTP/1.1 200 OK\r\nETag: "0123456789abcdef0123456789abcdef"\r\n'
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """One request that came through."""

    method: str
    path: str
    query: str
    agent: str
    """The client's name for itself: `object_store/…` is obstore, `Hadoop …` is s3a."""
    is_copy: bool = False
    """Whether the store copies an object of its own: how s3a renames."""
    size_bytes: int = 0
    """Of what was sent to be stored."""


@dataclass(frozen=True, slots=True)
class S3Request(OutsidePoint):
    """The n-th matching request to S3: `before` it is passed on, or `after` its answer."""

    when: When
    pattern: str
    """Regular expression, searched in the path without its query."""
    nth: int = 1
    method: str = "PUT"

    def __str__(self) -> str:
        return f"{self.when}:{self.method} {self.pattern}:{self.nth}"


@dataclass(slots=True)
class _Armed:
    point: S3Request
    group: int
    strike: int
    fired: Path
    seen: int = 0


class HeldRequest:
    """The next request that matches: it stays here, complete or not, until it is released."""

    def __init__(self, pattern: str, loop: asyncio.AbstractEventLoop, method: str) -> None:
        self.pattern = pattern
        self.method = method
        self.arrived = Trigger(f"{method} {pattern} to be held")
        self._loop = loop
        self._released = asyncio.Event()

    def release(self) -> None:
        """Let it go on to the store."""
        self._loop.call_soon_threadsafe(self._released.set)

    async def hold(self) -> None:
        """Say that it has come, and wait."""
        self.arrived.fire()
        await self._released.wait()


class S3Proxy(Proxy):
    """Passes requests on, and strikes the armed driver at its point."""

    def __init__(self, upstream_port: int) -> None:
        super().__init__(upstream_port)
        self._armed: _Armed | None = None
        self._losing: NextPut | None = None
        self._holding: HeldRequest | None = None
        self._pretending: str | None = None
        self._lock = threading.Lock()
        self.errors = ToldErrors()
        """What its clients are told instead of the store's own answers."""
        self.requests: list[SeenRequest] = []
        """Every request so far; what a point can be chosen from."""

    def arm(self, point: OutsidePoint, *, group: int, strike: int, fired: Path) -> None:
        """Strike this process group at the point, once, and write the point to `fired` first."""
        assert isinstance(point, S3Request), f"{point} is no request to S3"
        with self._lock:
            self._armed = _Armed(point, group, strike, fired)

    def disarm(self) -> None:
        """Strike nobody: the run the point was for is over."""
        with self._lock:
            self._armed = None

    def lose_answers(self, pattern: str, *, tries: int) -> Trigger:
        """Lose the answers to the next PUT that matches and to its repetitions.

        The store has taken the first one when its connection breaks. The others do not get to it.

        Args:
            pattern: Regular expression, searched in the path without its query.
            tries: How many in a row get no answer.

        Returns:
            What tells that the store has taken the first.
        """
        losing = NextPut(
            pattern=pattern, times=tries, happened=Trigger(f"lost answer to PUT {pattern}")
        )
        with self._lock:
            self._losing = losing
        return losing.happened

    def answer_again(self) -> None:
        """Lose no more answers."""
        with self._lock:
            self._losing = None

    def hold(self, pattern: str, *, method: str = "PUT") -> HeldRequest:
        """Hold the next request that matches, before the store has any of it."""
        held = HeldRequest(pattern, self._loop, method)
        with self._lock:
            self._holding = held
        return held

    def pretend(self, pattern: str) -> None:
        """Answer every PUT that matches and that the store refuses (412) as if it had taken it.

        So a store seems that ignores `If-None-Match`.
        """
        with self._lock:
            self._pretending = pattern

    def _held(self, method: str, path: str) -> HeldRequest | None:
        with self._lock:
            held = self._holding
            if held is None or method != held.method or not re.search(held.pattern, path):
                return None
            self._holding = None
            return held

    def _pretends(self, method: str, path: str, status: str) -> bool:
        with self._lock:
            pattern = self._pretending
        is_refused = method == "PUT" and status == "412"
        return is_refused and pattern is not None and re.search(pattern, path) is not None

    def _loses(self, method: str, path: str) -> NextPut | None:
        """Return what takes this request's answer; None when it gets one."""
        with self._lock:
            losing = self._losing
            return losing if losing is not None and losing.takes(method, path) else None

    def _reaches_point(self, method: str, path: str) -> _Armed | None:
        with self._lock:
            armed = self._armed
            if armed is None or method != armed.point.method:
                return None
            if not re.search(armed.point.pattern, path):
                return None
            armed.seen += 1
            if armed.seen != armed.point.nth:
                return None
            self._armed = None
            return armed

    async def _serve(self, client: Stream, upstream: Stream) -> None:
        while await self._pass(client, upstream):
            pass

    async def _pass(self, client: Stream, upstream: Stream) -> bool:
        """Carry one request and its answer; return whether the connection goes on."""
        request = await read_head(client)
        method, path = self._see(request)
        if (told := self.errors.of(method, path)) is not None:
            asked = await _ask(client, upstream, request) if told.reaches_store else None
            await told.tell(client, request, asked=asked)
            return False
        armed, losing = self._reaches_point(method, path), self._loses(method, path)
        if armed is not None and armed.point.when == "before":
            _strike(armed)
            return False
        if losing is not None and losing.happened.is_fired:
            return False
        if (held := self._held(method, path)) is not None:
            await held.hold()
        answer = await _ask(client, upstream, request)
        status = answer.first_line.split(" ")[1]
        # Refused by the store, it did not happen: then there is no "after", and no kill.
        if status.startswith("2") and (armed is not None or losing is not None):
            _happened(armed, losing)
            return False
        if self._pretends(method, path, status):
            await client.send(_TAKEN)
            return False
        await client.send(answer.raw)
        if method != "HEAD" and status not in BODILESS:
            await pass_body(upstream, client, answer.fields)
        return True

    def _see(self, request: Head) -> tuple[str, str]:
        """Write a request down; return its method and its path."""
        method, target, _ = request.first_line.split(" ", 2)
        path, _, query = target.partition("?")
        self.requests.append(
            SeenRequest(
                method=method,
                path=path,
                query=query,
                agent=request.fields.get("user-agent", ""),
                is_copy="x-amz-copy-source" in request.fields,
                size_bytes=_size(request.fields),
            )
        )
        return method, path


async def _ask(client: Stream, upstream: Stream, request: Head) -> Head:
    """Pass a request on; return what the store answers."""
    if "expect" in request.fields:
        # Answered here: the store's own 100 would have to be told apart from its answer.
        await client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    await upstream.send(re.sub(rb"(?i)\r\nexpect:[^\r]*", b"", request.raw))
    await pass_body(client, upstream, request.fields)
    return await read_head(upstream)


def _happened(armed: _Armed | None, losing: NextPut | None) -> None:
    if armed is not None:
        _strike(armed)
    elif losing is not None:
        losing.happened.fire()


def _size(fields: dict[str, str]) -> int:
    """Return how many bytes a request brings; without the signatures that s3a puts in between."""
    text = fields.get("x-amz-decoded-content-length") or fields.get("content-length", "0")
    return int(text) if text.isdecimal() else 0


def _strike(armed: _Armed) -> None:
    armed.fired.write_text(f"{armed.point}\n")
    try:
        os.killpg(armed.group, armed.strike)
    except ProcessLookupError:
        armed.fired.unlink()  # nobody was struck
