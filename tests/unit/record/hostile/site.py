"""A stream that has run, in a directory with things around it that nobody may touch."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.record.batches import JournalledBatch, rows_path
from holdfast.record.contracts import Contract
from holdfast.record.runs import Run

STREAM = "readings"
QUERY = "6f0c0000-0000-4000-8000-000000000000"
RUN_ID = "308f0242-442c-4f8c-9e68-5b944bf5e6ae"
NOW = "2026-11-15T06:00:00+00:00"
DIGEST = "5f" * 32
CONTRACT = Contract(
    sources=("FileSource[/srv/in]",),
    sinks=("readings",),
    output_mode="append",
    operators=(),
    state_provider="",
)


class Settings:
    """Of a session that has none."""

    def get(self, _name: str, default: Any = None) -> Any:
        return default


class StubSpark:
    """As much of a session as a stream on disk is found with."""

    conf = Settings()


@dataclass(frozen=True)
class Site:
    """A root with one stream, and what is around it."""

    around: Path
    after: int = field(default=1, kw_only=True)
    """The highest epoch that the sinks hold."""

    @property
    def root(self) -> Path:
        return self.around / "srv/streams"

    @property
    def checkpoint(self) -> Path:
        return self.root / STREAM

    @property
    def record(self) -> Path:
        return self.root / "_holdfast" / STREAM

    @property
    def victim(self) -> Path:
        return self.around / "victim"

    def read(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.record / path).read_text())
        return found

    def write(self, path: str, content: object) -> Path:
        """Put a file into the record: bytes and texts as they are, anything else as JSON."""
        file = self.record / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            file.write_text(text)
        return file

    def generation(self, **changes: object) -> dict[str, Any]:
        return {**self.read("generations/0001.json"), **changes}

    def lease(self, **changes: object) -> dict[str, Any]:
        return {**self.read("leases/000001.json"), **changes}

    def clear(self, path: str) -> Path:
        """Make room for something else at a path of the record."""
        file = self.record / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        return file

    def seen_around(self) -> dict[str, tuple[int, bytes]]:
        """Return everything outside the root: kinds, contents, and where links lead."""
        seen = {}
        for directory, names, files in os.walk(self.around):
            here = Path(directory)
            if here == self.root:
                names.clear()
                continue
            for name in (*names, *files):
                path = here / name
                mode = path.lstat().st_mode
                content = b""
                if stat.S_ISLNK(mode):
                    content = str(path.readlink()).encode()
                elif stat.S_ISREG(mode):
                    content = path.read_bytes()
                seen[str(path.relative_to(self.around))] = (mode, content)
        return seen


def make_site(around: Path) -> Site:
    """Make a stream that ran once, with batch 1 written down for two sinks and not committed."""
    site = Site(around)
    for directory in ("offsets", "commits"):
        (site.checkpoint / directory).mkdir(parents=True)
    (site.checkpoint / "offsets/0").write_text("v1\n{}\n{}")
    (site.checkpoint / "commits/0").write_text("v1\n{}")
    (site.checkpoint / "metadata").write_text(json.dumps({"id": QUERY}))
    generation = {
        "format": "holdfast.generation",
        "version": 1,
        "number": 1,
        "checkpoint": str(site.checkpoint),
        "query_id": QUERY,
        "first_batch": 0,
        "why": "opened",
        "opened_at": NOW,
    }
    lease = {
        "format": "holdfast.lease",
        "version": 1,
        "epoch": 1,
        "owner": {"host": "etl-7", "pid": 4411, "machine": "another boot", "pid_started": "1"},
        "token": "17" * 16,
        "nonce": "7b" * 16,
        "term_s": 30.0,
        "taken_at": NOW,
        "released": True,
    }
    site.write("generations/0001.json", generation)
    site.write("leases/000001.json", lease)
    site.write(f"{rows_path(1, 1, epoch=1)}/part-0.parquet", b"rows")
    (site.victim / ".ssh").mkdir(parents=True)
    (site.victim / ".ssh/authorized_keys").write_text("ssh-ed25519 AAAA")
    (site.victim / "rows").mkdir()
    (site.victim / "rows/secret.parquet").write_bytes(b"secret rows")
    (site.victim / "generation.json").write_text(json.dumps(generation))
    return site


def journalled() -> JournalledBatch:
    """Return batch 1 as the driver of epoch 1 wrote it down."""
    return JournalledBatch(generation=1, batch=1, digest=DIGEST, rows=rows_path(1, 1, epoch=1))


def run_of(epoch: int) -> Run:
    """Return what a driver writes down once its query runs."""
    return Run(
        epoch=epoch,
        run_id=RUN_ID,
        generation=1,
        contract=CONTRACT.digest,
        spark="4.2",
        started_at=NOW,
        first_batch=1,
    )
