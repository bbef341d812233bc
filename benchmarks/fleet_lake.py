"""A lake of checkpoints to scan: healthy ones and 8 kinds of broken ones, each with its verdict.

The files are those of checkpoints that real Spark wrote, without Hadoop's checksums, as a bucket
has them. Each checkpoint has a query id of its own. What a scan must say is what the complete look
of `holdfast inspect` says of one checkpoint of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from uuid import UUID

from benchmarks.large_checkpoint import read_archive
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.judgement.judge import Verdict, judge
from holdfast.storage.memory import MemoryStorage

Files = dict[str, bytes]
HEALTHY = ("4.2-kafka", "4.2-aggregation", "4.2-kafka", "4.2-file-source")
EVERY = 10
"""So many checkpoints have one broken among them."""
TEAMS = 50


def _without(*paths: str) -> Callable[[Files], Files]:
    return lambda files: {path: raw for path, raw in files.items() if path not in paths}


def _with(path: str, raw: bytes) -> Callable[[Files], Files]:
    return lambda files: {**files, path: raw}


KINDS: Mapping[str, tuple[str, Callable[[Files], Files]]] = {
    "pending-batch": ("4.2-kafka", _without("commits/6")),
    "previous-offsets-missing": ("4.2-kafka", _without("offsets/5")),
    "metadata-missing": ("4.2-kafka", _without("metadata")),
    "metadata-torn": ("4.2-kafka", _with("metadata", b"{")),
    "offsets-torn": ("4.2-kafka", _with("offsets/6", b"v1\n{")),
    "commit-empty": ("4.2-kafka", _with("commits/6", b"")),
    "commits-ahead": ("4.2-kafka", _without("offsets/6", "offsets/5", "offsets/4")),
    "state-missing": ("4.2-aggregation", _without("state/0/0/6.delta", "state/0/0/6.snapshot")),
}
"""What is broken, by name: which checkpoint, and how."""


@cache
def files_of(kind: str) -> Files:
    """Return the files of one kind of checkpoint: healthy by its archive, or broken by its name."""
    name, damage = KINDS.get(kind, (kind, dict))
    plain = {path: raw for path, raw in read_archive(name).items() if not path.endswith(".crc")}
    return damage(plain)


@cache
def verdict_of(kind: str) -> Verdict:
    """Return the verdict of the complete look at one kind of checkpoint."""
    overview = overview_of(collect(MemoryStorage(files_of(kind))))
    return judge(Case(checkpoint=overview.checkpoint, overview=overview)).verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One checkpoint of the lake."""

    path: str
    kind: str

    @property
    def files(self) -> Iterator[tuple[str, bytes]]:
        """Its files by their paths in the lake, with a query id of its own."""
        found = files_of(self.kind)
        for path, raw in found.items():
            is_id = path == "metadata" and raw.startswith(b'{"id"')
            yield f"{self.path}/{path}", self._id() if is_id else raw

    def _id(self) -> bytes:
        digest = sha256(self.path.encode()).digest()[:16]
        return f'{{"id":"{UUID(bytes=digest)}"}}'.encode()


def plant(checkpoints: int) -> Iterator[Planted]:
    """Yield the checkpoints of a lake."""
    broken = list(KINDS)
    for number in range(checkpoints):
        is_broken = number % EVERY == EVERY - 1
        kind = broken[number // EVERY % len(broken)] if is_broken else HEALTHY[number % 4]
        yield Planted(path=f"team-{number % TEAMS:02}/stream-{number:06}", kind=kind)
