"""The event logs that real Spark wrote: `python -m fixtures.event_logs` makes them."""

from __future__ import annotations

import atexit
import json
import shutil
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from fixtures.event_logs import TARGET

NAMES = (
    *("3.5-stopped", "3.5-failed", "3.5-killed", "3.5-stateful", "3.5-lz4", "3.5-lzf"),
    *("3.5-snappy", "4.2-killed", "4.2-failed", "4.2-stateful"),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One application."""

    directory: Path
    answers: dict[str, Any]

    @property
    def events(self) -> Path:
        """What `spark.eventLog.dir` named."""
        return self.directory / "events"

    @property
    def query_id(self) -> str:
        """Of the stream."""
        return str(self.answers["query_id"])

    @property
    def file(self) -> Path:
        """The one file that has events."""
        (found,) = (
            each for each in self.events.rglob("*") if each.is_file() and each.stat().st_size
        )
        return found


@cache
def _unpacked() -> Path:
    directory = Path(mkdtemp(prefix="holdfast-event-logs-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    with tarfile.open(TARGET) as tar:
        tar.extractall(directory, filter="data")
    return directory


@cache
def recorded(name: str) -> Recorded:
    """Return one, unpacked."""
    directory = _unpacked() / name
    return Recorded(directory, json.loads((directory / "answers.json").read_text()))
