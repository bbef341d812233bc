"""Leases: who may run a stream. One file per epoch, made once; the highest number is the newest.

Taking the next epoch is one put-if-absent, so of any number of starters one gets it. A lease is
given up by its owner, or it is dead: its process is gone from this machine, or its heartbeat (a
nonce that its owner replaces) did not change for its whole term on *our* monotonic clock. Clocks of
two machines are never compared. What a lease cannot promise, the fence in the sink does: an owner
that was taken for dead and wakes up again writes nothing.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from holdfast import clock
from holdfast.record.documents import Document, create, encode, read_document
from holdfast.record.layout import LEASES, lease_path
from holdfast.record.owner import Owner, is_certainly_dead
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

TERM_S = 30.0
"""For how long an unchanged heartbeat is waited for; renewed every third of it."""
_POLLS_PER_TERM = 30
_FILE = re.compile(r"leases/([0-9]{6,})\.json")


class Lease(Document, frozen=True, kw_only=True, tag="holdfast.lease"):
    """The right to run a stream, under one epoch."""

    epoch: int
    owner: Owner
    token: str
    """Of this start; sinks keep it beside the epoch."""
    nonce: str
    """New with every heartbeat."""
    term_s: float = TERM_S
    taken_at: str = ""
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is told while a living lease is waited for."""

    lease: Lease
    seconds_left: float


def newest_epoch(reader: Reader) -> int:
    """Return the highest epoch that was ever taken; 0 when none was.

    Raises:
        ReadError: The store did not let us list.
    """
    found = (_FILE.fullmatch(info.path) for info in reader.list(LEASES).files)
    return max((int(each[1]) for each in found if each), default=0)


def read_lease(reader: Reader, epoch: int) -> Lease | None:
    """Read the lease of an epoch."""
    return read_document(reader, lease_path(epoch), Lease)


def take_lease(  # noqa: PLR0913 - each by name
    writer: Writer,
    owner: Owner,
    *,
    takeover: bool = False,
    after: int = 0,
    tell: Callable[[Waiting], None] = lambda _: None,
    term_s: float = TERM_S,
) -> Lease:
    """Take the next epoch, as soon as nobody holds the one before.

    Args:
        writer: Of the stream's record.
        owner: Who takes it.
        takeover: Do not wait for a living owner; the fence keeps that safe.
        after: The highest epoch that any sink holds: a record that was lost or brought back from a
            backup must not give out an epoch again.
        tell: Called now and then while a living owner is waited for.
        term_s: Of the new lease.

    Raises:
        ReadError, WriteError: The store did not answer.
        RecordError: The newest lease cannot be read.
    """
    while True:
        epoch = newest_epoch(writer)
        if epoch and not takeover:
            _wait_until_free(writer, epoch, tell)
        lease = Lease(
            epoch=max(epoch, after) + 1,
            owner=owner,
            token=uuid.uuid4().hex,
            nonce=uuid.uuid4().hex,
            term_s=term_s,
            taken_at=clock.now().isoformat(timespec="seconds"),
        )
        if create(writer, lease_path(lease.epoch), lease):
            return lease


def renew(writer: Writer, lease: Lease) -> Lease | None:
    """Show that the owner lives; None when a newer epoch has been taken, and the lease is lost."""
    if newest_epoch(writer) > lease.epoch:
        return None
    fresh = msgspec.structs.replace(lease, nonce=uuid.uuid4().hex)
    writer.put(lease_path(lease.epoch), encode(fresh))
    return fresh


def release(writer: Writer, lease: Lease) -> None:
    """Give a lease up, so that the next start need not wait."""
    given_up = msgspec.structs.replace(lease, released=True)
    writer.put(lease_path(lease.epoch), encode(given_up))


def _wait_until_free(reader: Reader, epoch: int, tell: Callable[[Waiting], None]) -> None:
    """Wait until an epoch's owner is gone; return at once when it is not the newest any more."""
    seen, since = None, clock.monotonic()
    while True:
        lease = read_lease(reader, epoch)
        if lease is None or lease.released or is_certainly_dead(lease.owner):
            return
        if lease.nonce != seen:
            seen, since = lease.nonce, clock.monotonic()
        left = lease.term_s - (clock.monotonic() - since)
        if left <= 0 or newest_epoch(reader) > epoch:
            return
        tell(Waiting(lease=lease, seconds_left=left))
        time.sleep(min(lease.term_s / _POLLS_PER_TERM, left))
