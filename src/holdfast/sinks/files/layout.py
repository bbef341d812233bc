"""The names of the files sink: of batches in the directory, and of what is beside it. No I/O.

Beside `lake/readings`, where readers look, is `lake/.readings.holdfast`, where they do not:

    lake/readings/hf_batch=STREAM.GENERATION.BATCH/…     one batch, visible
    lake/.readings.holdfast/STREAM/token.EPOCH.RECORD/   the one token of the stream
    lake/.readings.holdfast/STREAM/records/RECORD.json   what a token stands for
    lake/.readings.holdfast/STREAM/staging/EPOCH-…/      what is written, not published
    lake/.readings.holdfast/STREAM/kept/NAME/…           batches that a plan took away

Nothing that is not published lies below the directory: a glob finds names that listings hide.
"""

from __future__ import annotations

import posixpath
import re
import uuid
from collections.abc import Iterable
from functools import lru_cache

import msgspec

COLUMN = "hf_batch"
"""The column that readers of partitioned directories have more."""
NOTE = "_holdfast"
"""The file in a batch that has its ledger row; without an ending, so that no glob takes it."""
_BATCH = re.compile(rf"{COLUMN}=([a-z0-9][a-z0-9-]{{0,62}})\.([1-9][0-9]{{0,8}})\.([0-9]{{9,18}})")
_TOKEN = re.compile(r"token\.([0-9]{9,18})\.([0-9a-f]{32})")
_STAGED = re.compile(r"([0-9]{9,18})-[0-9a-f]{32}")
GOING, COMING = "going.", "coming."
"""In a token, before the name of a batch: it is on its way out of the directory, or into it."""


class BatchName(msgspec.Struct, frozen=True, order=True):
    """Which batch of which stream a directory holds."""

    stream: str
    generation: int
    batch: int

    def __str__(self) -> str:
        return f"{COLUMN}={self.stream}.{self.generation}.{self.batch:09d}"


class Token(msgspec.Struct, frozen=True, order=True):
    """The name of a token: the epoch that may publish, and the record of what it stands for."""

    epoch: int
    record: str

    def __str__(self) -> str:
        return f"token.{self.epoch:09d}.{self.record}"


@lru_cache(maxsize=1 << 14)  # a start lists a directory several times, and a batch again
def parse_batch(name: str) -> BatchName | None:
    """Return which batch a directory is; None for a name that Holdfast did not give."""
    found = _BATCH.fullmatch(name)
    batch = None if found is None else BatchName(found[1], int(found[2]), int(found[3]))
    return batch if str(batch) == name else None


def parse_token(name: str) -> Token | None:
    """Return what a token stands for; None for another name."""
    found = _TOKEN.fullmatch(name)
    return None if found is None else Token(int(found[1]), found[2])


def batches_of(names: Iterable[str], stream: str) -> list[BatchName]:
    """Return the batches of a stream among names, sorted."""
    found = (parse_batch(name) for name in names)
    return sorted(each for each in found if each is not None and each.stream == stream)


def staging_name(epoch: int) -> str:
    """Return a new name for what a driver writes."""
    return f"{epoch:09d}-{uuid.uuid4().hex}"


def epoch_staged(name: str) -> int | None:
    """Return the epoch of the driver that wrote below a name; None for another name."""
    found = _STAGED.fullmatch(name)
    return None if found is None else int(found[1])


class Places(msgspec.Struct, frozen=True):
    """The paths of one directory and one stream, below the directory that both are in."""

    directory: str
    """Its name."""
    stream: str

    @property
    def hidden(self) -> str:
        """Beside the directory: everything of every stream that no reader sees."""
        return hidden_name(self.directory)

    @property
    def home(self) -> str:
        """Of the stream."""
        return posixpath.join(self.hidden, self.stream)

    def record(self, name: str) -> str:
        """Return the path of a record."""
        return posixpath.join(self.home, "records", f"{name}.json")

    def token(self, token: Token, *inside: str) -> str:
        """Return the path of a token, or of something in it."""
        return posixpath.join(self.home, str(token), *inside)

    def staging(self, name: str = "") -> str:
        """Return the path of what is written, or of the directory with all of it."""
        return posixpath.join(self.home, "staging", name).rstrip("/")

    def kept(self, name: str, batch: BatchName | None = None) -> str:
        """Return the path of what was taken away under a name, or of one batch of it."""
        return posixpath.join(self.home, "kept", name, *([] if batch is None else [str(batch)]))

    def visible(self, batch: BatchName) -> str:
        """Return the path of a published batch."""
        return posixpath.join(self.directory, str(batch))

    def note(self, batch: BatchName) -> str:
        """Return the path of the note of a published batch."""
        return posixpath.join(self.visible(batch), NOTE)


def hidden_name(directory: str) -> str:
    """Return the name of what is beside a directory."""
    return f".{directory}.holdfast"
