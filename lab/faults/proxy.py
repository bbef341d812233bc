"""What the proxies share: an asyncio server on 127.0.0.1 that lives in a thread of this process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Self

CHUNK = 1 << 16


class Proxy(ABC):
    """Stands between clients and one server; a context manager."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The port clients connect to."""
        assert self._server is not None, "the proxy has not been started"
        return int(self._server.sockets[0].getsockname()[1])

    @abstractmethod
    async def _serve(self, client: Stream, upstream: Stream) -> None:
        """Carry one connection until either side ends."""

    def __enter__(self) -> Self:
        self._thread.start()
        listening = asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 20)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._clients):
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        client = Stream(reader, writer)
        try:
            # A client or server that goes away in the middle is what this proxy is for.
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                connection = await asyncio.open_connection("127.0.0.1", self._upstream_port)
                upstream = Stream(*connection)
                try:
                    await self._serve(client, upstream)
                finally:
                    upstream.close()
        finally:
            client.close()
            self._clients.discard(task)


class Stream:
    """One direction pair of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what arrives until the other side closes."""
        while chunk := await self.reader.read(CHUNK):
            yield chunk

    async def send(self, data: bytes) -> None:
        """Send and wait until the buffer has room again."""
        self._writer.write(data)
        await self._writer.drain()

    def close(self) -> None:
        """Close the connection in both directions, at once."""
        self._writer.transport.abort()


class Trigger:
    """An event of a proxy's thread that a test in another thread waits for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._fired = threading.Event()

    @property
    def is_fired(self) -> bool:
        """Whether it has happened."""
        return self._fired.is_set()

    def fire(self) -> None:
        """Say that it has happened."""
        self._fired.set()

    def wait(self, *, seconds: float = 60.0) -> None:
        """Wait until it has happened.

        Raises:
            TimeoutError: It has not; a fault that did not happen proves nothing.
        """
        if not self._fired.wait(seconds):
            raise TimeoutError(f"{self.name} did not happen within {seconds:.0f} s")
