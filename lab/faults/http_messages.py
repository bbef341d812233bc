"""HTTP on a proxy's connections: a head is read, a body passes unchanged."""

from __future__ import annotations

from dataclasses import dataclass

from lab.faults.proxy import CHUNK, Stream

BODILESS = {"204", "304"}
"""Statuses of answers that have no body."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line and the fields of a request or an answer."""

    raw: bytes
    first_line: str
    fields: dict[str, str]
    """By name in lower case."""


async def read_head(stream: Stream) -> Head:
    """Return the next head.

    Raises:
        EOFError: The other side has closed.
    """
    raw = await stream.reader.readuntil(b"\r\n\r\n")
    first_line, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Head(raw, first_line, {name.strip().lower(): value.strip() for name, _, value in pairs})


async def read_body(source: Stream, fields: dict[str, str]) -> bytes:
    """Return the body that belongs to a head with these fields."""
    if not _is_chunked(fields):
        return await source.reader.readexactly(int(fields.get("content-length", "0")))
    chunks = []
    while size := int((await source.reader.readline()).partition(b";")[0], 16):
        chunks.append((await source.reader.readexactly(size + 2))[:-2])
    await source.reader.readexactly(2)
    return b"".join(chunks)


async def pass_body(source: Stream, target: Stream, fields: dict[str, str]) -> None:
    """Pass on the body that belongs to a head with these fields."""
    if _is_chunked(fields):
        await _pass_chunks(source, target)
        return
    left = int(fields.get("content-length", "0"))
    while left:
        data = await source.reader.read(min(left, CHUNK))
        if not data:
            raise EOFError
        left -= len(data)
        await target.send(data)


async def _pass_chunks(source: Stream, target: Stream) -> None:
    while True:
        size_line = await source.reader.readline()
        size = int(size_line.partition(b";")[0], 16)
        await target.send(size_line + await source.reader.readexactly(size + 2))
        if size == 0:
            return


def _is_chunked(fields: dict[str, str]) -> bool:
    return fields.get("transfer-encoding", "").lower() == "chunked"
