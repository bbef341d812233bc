"""A real client of the official SDK, talking to `holdfast mcp` over standard input and output.

The server runs in an interpreter that refuses every change of a file: an audit hook raises before
the system is asked. So a tool that writes fails, whoever runs the tests.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters

from tests.house.repository import ROOT

T = TypeVar("T")

REFUSES_WRITES = """
import os, sys
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "shutil.rmtree", "shutil.copyfile", "shutil.move"}
def refuse(event, given):
    opens = event == "open" and isinstance(given[0], (str, bytes)) and isinstance(given[2], int)
    writes = opens and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    if (writes and given[0] != os.devnull) or event in CHANGES:
        raise PermissionError(f"this file system refuses writes: {event} {given[0]!r}")
sys.addaudithook(refuse)
"""
RUNS = "from holdfast.cli.main import run; run()"


@dataclass(frozen=True)
class Answered:
    """What a tool answered."""

    is_error: bool
    text: str
    structured: Any

    @property
    def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)["answer"]
        return found


@dataclass(frozen=True)
class Tool:
    """What a server says of a tool."""

    name: str
    is_read_only: bool
    is_destructive: bool
    schema: dict[str, Any]


class Talk:
    """One session with a server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **given: Any) -> Answered:
        """Call a tool."""
        found = await self.client.call_tool(tool, given)
        (content,) = found.content
        text = getattr(content, "text", "")
        return Answered(bool(found.is_error), text, found.structured_content)

    async def tools(self) -> list[Tool]:
        """Return the tools of the server."""
        found = (await self.client.list_tools()).tools
        return [
            Tool(
                each.name,
                bool(each.annotations and each.annotations.read_only_hint),
                bool(each.annotations and each.annotations.destructive_hint),
                each.input_schema,
            )
            for each in found
        ]


def talk(
    words: Sequence[str],
    say: Callable[[Talk], Awaitable[T]],
    *,
    env: Mapping[str, str] | None = None,
    writes: bool = False,
) -> T:
    """Start `holdfast mcp`, talk to it, and end it.

    Args:
        words: After `holdfast mcp`.
        say: The conversation.
        env: More variables of its environment.
        writes: Whether its file system takes changes.
    """
    program = RUNS if writes else REFUSES_WRITES + RUNS
    paths = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-c", program, "mcp", *words], env={**paths, **(env or {})}
    )

    async def session() -> T:
        async with Client(parameters, read_timeout_seconds=120) as client:
            return await say(Talk(client))

    return asyncio.run(session())


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file below a directory, with its bytes and when it was changed."""
    return {
        str(each.relative_to(root)): (each.read_bytes(), each.stat().st_mtime_ns)
        for each in sorted(root.rglob("*"))
        if each.is_file() and not each.is_symlink()
    }
