"""A TCP proxy that cuts, delays, or swallows the answer after the request has gone through.

It watches what clients send for some bytes, `COMMIT` say, and does one thing at the n-th time:

- `cut`: the request does not go through, and the connection breaks.
- `swallow`: the request goes through, the server has answered, and the connection breaks before the
  client sees the answer. The one fault after which a client must not simply try again.
- `hold`: the request, and what the client sends after it, is delayed until `release()`.
- `keep`: the request goes through, and the server's answer is delayed until `release()`.

What comes next from the server is taken for the answer: it is for clients that wait for each one.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Literal

from holdfast.drills.kill.proxy import Proxy, Stream, Trigger

Action = Literal["cut", "swallow", "hold", "keep"]


@dataclass(slots=True)
class _Fault:
    action: Action
    request: bytes
    nth: int
    happened: Trigger
    released: asyncio.Event = field(default_factory=asyncio.Event)
    seen: int = 0


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

    def release(self) -> None:
        """Let a held connection go on."""
        assert self._held is not None, "nothing is held"
        self._loop.call_soon_threadsafe(self._held.released.set)
        self._held = None

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
                await fault.released.wait()
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
                await fault.released.wait()
            await client.send(chunk)
