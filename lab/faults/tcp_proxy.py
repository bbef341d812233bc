"""A TCP proxy that cuts, delays, or swallows the answer after the request has gone through.

It watches what clients send for some bytes, `COMMIT` say, and does one thing at the n-th time:

- `cut`: the request does not go through, and the connection breaks.
- `swallow`: the request goes through, the server has answered, and the connection breaks before the
  client sees the answer. The one fault after which a client must not simply try again.
- `hold`: the request, and what the client sends after it, is delayed until `release()`.
- `keep`: the request goes through, and the server's answer is delayed until `release()`.

As the striker of a driver it kills that at the request or its answer; what was delayed goes on when
the driver is gone.

What comes next from the server is taken for the answer: it is for clients that wait for each one.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import psutil

from holdfast.drills.kill.points import OutsidePoint, When
from lab.faults.proxy import Proxy, Stream, Trigger

Action = Literal["cut", "swallow", "hold", "keep"]
_ACTIONS: dict[When, Action] = {"before": "hold", "after": "keep"}


@dataclass(frozen=True, slots=True)
class TcpRequest(OutsidePoint):
    """The n-th time that clients send these bytes: `before` they go on, or `after` the answer."""

    when: When
    request: bytes
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}-request:{self.request.decode(errors='replace')}:{self.nth}"


@dataclass(slots=True)
class _Fault:
    action: Action
    request: bytes
    nth: int
    happened: Trigger
    released: asyncio.Event = field(default_factory=asyncio.Event)
    seen: int = 0
    strike: Callable[[], Awaitable[None]] | None = None

    async def delay(self) -> None:
        """Wait until it is released or, where it strikes a driver, until that is gone."""
        await (self.released.wait() if self.strike is None else self.strike())


class TcpProxy(Proxy):
    """Passes bytes both ways until a fault that was asked for is due."""

    def __init__(self, upstream_port: int) -> None:
        super().__init__(upstream_port)
        self._lock = threading.Lock()
        self._fault: _Fault | None = None
        self._held: _Fault | None = None

    def at(self, request: bytes, action: Action, *, nth: int = 1) -> Trigger:
        """Do `action` when clients send `request` the n-th time; return what tells it happened."""
        name = f"{action} at {request.decode(errors='replace')}:{nth}"
        fault = _Fault(action, request, nth, Trigger(name))
        with self._lock:
            self._fault = fault
        return fault.happened

    def arm(self, point: OutsidePoint, *, group: int, strike: int, fired: Path) -> None:
        """Strike this process group at the point, once, and write the point to `fired` first."""
        assert isinstance(point, TcpRequest), f"{point} is nothing that a client sends"
        fault = _Fault(
            _ACTIONS[point.when],
            point.request,
            point.nth,
            Trigger(str(point)),
            strike=partial(_strike, group, strike, fired=fired, told=str(point)),
        )
        with self._lock:
            self._fault = fault

    def disarm(self) -> None:
        """Strike nothing: the run that the point was for is over."""
        with self._lock:
            self._fault = None

    def release(self) -> None:
        """Let a held connection go on."""
        assert self._held is not None, "nothing is held"
        self._loop.call_soon_threadsafe(self._held.released.set)
        self._held = None

    def client(self) -> psutil.Process:
        """Return the one process that has a connection to this proxy."""
        (found,) = {
            each.pid
            for each in psutil.net_connections("tcp")
            if each.raddr
            and each.raddr.port == self.port
            and each.pid not in (None, os.getpid())  # closed, or the proxy's own
        }
        return psutil.Process(found)

    def _due(self, window: bytes, new: int) -> _Fault | None:
        """Return the fault when the last `new` bytes of the window complete its n-th request."""
        with self._lock:
            fault = self._fault
            if fault is None:
                return None
            # An occurrence that ended before the new bytes was counted with them.
            start = max(0, len(window) - new - len(fault.request) + 1)
            fault.seen += window.count(fault.request, start)
            if fault.seen < fault.nth:
                return None
            self._fault = None
            return fault

    async def _serve(self, client: Stream, upstream: Stream) -> None:
        answers: list[_Fault] = []
        ways = [
            asyncio.create_task(self._pass_requests(client, upstream, answers)),
            asyncio.create_task(self._pass_answers(upstream, client, answers)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pass_requests(self, client: Stream, upstream: Stream, answers: list[_Fault]) -> None:
        kept = b""
        async for chunk in client.chunks():
            window = kept + chunk
            fault = self._due(window, len(chunk))
            kept = window[-256:]
            if fault is not None and fault.action == "cut":
                fault.happened.fire()
                return
            if fault is not None and fault.action in ("swallow", "keep"):
                answers.append(fault)
            if fault is not None and fault.action == "hold":
                self._held = fault
                fault.happened.fire()
                await fault.delay()
            await upstream.send(chunk)

    async def _pass_answers(self, upstream: Stream, client: Stream, answers: list[_Fault]) -> None:
        async for chunk in upstream.chunks():
            if answers:
                fault = answers.pop()
                if fault.action == "keep":
                    self._held = fault
                fault.happened.fire()
                if fault.action == "swallow":
                    return
                await fault.delay()
            await client.send(chunk)


async def _strike(group: int, strike: int, *, fired: Path, told: str) -> None:
    """Strike a process group, and wait until it is gone."""
    fired.write_text(f"{told}\n")
    try:
        os.killpg(group, strike)
        while True:
            await asyncio.sleep(0.02)
            os.killpg(group, 0)
    except ProcessLookupError:
        return
