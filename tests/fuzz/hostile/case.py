"""A hostile checkpoint: how it is made, and what must be shown of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.unit.checkpoint.archives import open_archive

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One hostile checkpoint, on disk or in memory."""

    name: str
    make: Callable[[], Files]
    """Returns the files; called when the case is run, because some are large."""
    finish: Callable[[Path], None] | None = None
    """Adds to the directory what is not a plain file."""
    names: tuple[str, ...] = ()
    """Paths that must be named as not being as they should."""
    shows: tuple[str, ...] = ()
    """What the text must say."""
    in_memory: bool = False
    """For names that a disk cannot have."""
    heavy: bool = False
    """Takes seconds or hundreds of megabytes; not for the gate."""

    def build(self, directory: Path) -> None:
        """Make the checkpoint on disk."""
        directory.mkdir()
        for path, raw in self.make().items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(raw)
        if self.finish is not None:
            self.finish(directory)


def heavy(case: Hostile) -> Hostile:
    """Keep a case out of the gate."""
    return replace(case, heavy=True)


@cache
def _originals(archive: str) -> Files:
    """Return the files of a checkpoint without the checksums of local disk."""
    files = open_archive(archive).checkpoint.files
    return {path: raw for path, raw in files.items() if not re.search(r"(^|/)\.", path)}


def healthy(archive: str, changed: Files | None = None) -> Files:
    """Return a checkpoint that Spark wrote, with some files replaced or added."""
    return {**_originals(archive), **(changed or {})}


def entry(
    *offsets: str, line: str = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'
) -> bytes:
    """Return an offset entry of version 1."""
    return "\n".join(["v1", line, *offsets]).encode("utf-8", "surrogatepass")


COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
