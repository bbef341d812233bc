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
from holdfast.errors import HoldfastError
from holdfast.record.bounds import MAX_EPOCH, EpochNumber, TermSeconds, Timestamp, Token
from holdfast.record.documents import (
    STOPPED,
    Document,
    RecordError,
    create,
    find_names,
    read_document,
    refuse,
    replace,
)
from holdfast.record.layout import LEASES, lease_path
from holdfast.record.owner import Owner, is_certainly_dead
from holdfast.record.repair import move_aside
from holdfast.storage.location import Location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

TERM_S = 30.0
"""For how long an unchanged heartbeat is waited for; renewed every third of it."""
_POLLS_PER_TERM = 30
MAX_MISSING = 1_000
"""How many epochs between the sinks' and the newest may have no file: old leases may be deleted."""
_NAME = re.compile(r"([0-9]{6,})\.json")


class EpochJumpError(RecordError):
    """The newest epoch is one that no start can have been given."""

    code = "EPOCH_JUMP"

    def __init__(self, location: Location, *, why: str, is_in_sink: bool = False) -> None:
        moving = f"Move the lease aside and start again. {STOPPED} Then run:"
        super().__init__(
            location,
            what=f"No lease was taken: epoch {location.name.partition('.')[0]} cannot be real.",
            why=f"{why} A sink keeps its epoch for good, and epochs end at {MAX_EPOCH:,}.",
            how="Restore the sink's ledger row from a backup." if is_in_sink else moving,
            repair="" if is_in_sink else move_aside(location),
        )


class LeaseHeldError(HoldfastError):
    """Another driver runs the stream, and it is alive."""

    code = "LEASE_HELD"
    retryable = True

    def __init__(self, record: Location, lease: Lease) -> None:
        self.owner = lease.owner
        super().__init__(
            what=f"{record.name} was not started; nothing was written.",
            why=f"{lease.owner} runs it, under epoch {lease.epoch}, and renewed its lease for "
            f"{lease.term_s:.0f} s while this start waited.",
            how="Stop that driver first. To replace it at once: takeover=True; the sinks then "
            "refuse what it still writes.",
        )


class Lease(Document, frozen=True, kw_only=True, tag="holdfast.lease"):
    """The right to run a stream, under one epoch."""

    epoch: EpochNumber
    owner: Owner
    token: Token
    """Of this start; sinks keep it beside the epoch."""
    nonce: Token
    """New with every heartbeat."""
    term_s: TermSeconds = TERM_S
    taken_at: Timestamp = ""
    released: bool = False

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return lease_path(self.epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What is told while a living lease is waited for."""

    lease: Lease
    seconds_left: float


def newest_epoch(reader: Reader) -> int:
    """Return the highest epoch that was ever taken; 0 when none was.

    Raises:
        EpochJumpError: A name holds a number that no epoch can have.
        ReadError, RecordError: The leases cannot be listed.
    """
    return max(_epochs(reader), default=0)


def read_lease(reader: Reader, epoch: int) -> Lease | None:
    """Read the lease of an epoch."""
    return read_document(reader, lease_path(epoch), Lease)


def take_lease(  # noqa: PLR0913 - each by name
    writer: Writer,
    owner: Owner,
    *,
    takeover: bool = False,
    after: int | None = None,
    tell: Callable[[Waiting], None] = lambda _: None,
    term_s: float = TERM_S,
) -> Lease:
    """Take the next epoch, as soon as no driver holds the one before.

    Args:
        writer: Of the stream's record.
        owner: Who takes it.
        takeover: Do not wait for a living owner; the fence keeps that safe.
        after: The highest epoch that any sink holds, 0 if none holds one yet: a record that was
            lost or brought back from a backup must not give out an epoch again. None if no sink
            has a ledger.
        tell: Called now and then while a living owner is waited for.
        term_s: Of the new lease.

    Raises:
        ReadError, WriteError: The store did not answer.
        EpochJumpError: The newest epoch is not one that a start can have been given.
        LeaseHeldError: A driver that is alive holds it.
        RecordError: The newest lease cannot be read.
    """
    while True:
        epochs = _epochs(writer)
        _refuse_jump(writer, epochs, after=after)
        newest = max(epochs, default=0)
        if newest and not takeover:
            _wait_until_free(writer, newest, tell)
        lease = _next_lease(max(newest, after or 0) + 1, owner, term_s=term_s)
        if create(writer, lease):
            return lease
        if newest_epoch(writer) < lease.epoch:
            why = "The store says that a file is there, and does not list it."
            raise refuse(writer, lease.path, why=why)


def _next_lease(epoch: int, owner: Owner, *, term_s: float) -> Lease:
    return Lease(
        epoch=epoch,
        owner=owner,
        token=uuid.uuid4().hex,
        nonce=uuid.uuid4().hex,
        term_s=term_s,
        taken_at=clock.now().isoformat(timespec="seconds"),
    )


def renew(writer: Writer, lease: Lease) -> Lease | None:
    """Show that the owner lives; None when a newer epoch has been taken, and the lease is lost."""
    if newest_epoch(writer) > lease.epoch:
        return None
    fresh = msgspec.structs.replace(lease, nonce=uuid.uuid4().hex)
    replace(writer, fresh)
    return fresh


def release(writer: Writer, lease: Lease) -> None:
    """Give a lease up, so that the next start need not wait."""
    replace(writer, msgspec.structs.replace(lease, released=True))


def _epochs(reader: Reader) -> set[int]:
    """Return the epochs that have a file under the name that Holdfast gives it."""
    names = [each[1] for each in find_names(reader, LEASES, _NAME)]
    epochs = {int(name) for name in names if f"{int(name):06d}" == name}
    highest = max(epochs, default=0)
    if highest > MAX_EPOCH:
        why = "Its number is larger than any epoch."
        raise EpochJumpError(reader.location.join(lease_path(highest)), why=why)
    return epochs


def _refuse_jump(reader: Reader, epochs: set[int], *, after: int | None) -> None:
    """Refuse a newest epoch that no start can have been given: they are given out one by one.

    Starts that never came as far as a sink leave their leases. So nearly every epoch between what
    the sinks hold and the newest has a file; without any ledger, from the oldest file on.
    """
    newest = max(epochs, default=0)
    since = min(epochs, default=1) - 1 if after is None else after
    after = after or 0
    missing = newest - since - sum(epoch > since for epoch in epochs)
    held = f"The sinks hold epoch {after:,}." if after else "No sink holds an epoch."
    location = reader.location.join(lease_path(max(newest, after)))
    if after >= MAX_EPOCH:
        raise EpochJumpError(location, why=held, is_in_sink=True)
    if missing > MAX_MISSING:
        why = f"{held} Of the epochs from there to {newest:,}, {missing:,} have no lease."
        raise EpochJumpError(location, why=why)
    if newest >= MAX_EPOCH:
        raise EpochJumpError(location, why=held)


def _wait_until_free(reader: Reader, epoch: int, tell: Callable[[Waiting], None]) -> None:
    """Wait until an epoch's owner is gone; return at once when it is not the newest any more.

    Raises:
        LeaseHeldError: The owner still renews its lease after a whole term: it is alive.
    """
    seen, began = None, clock.monotonic()
    since = began
    while True:
        lease = read_lease(reader, epoch)
        now = clock.monotonic()
        if lease is None or lease.released or is_certainly_dead(lease.owner):
            return
        if lease.nonce != seen:
            # Only a heartbeat just now shows a living owner: one before may be a killed one's last.
            if seen is not None and now - began >= lease.term_s:
                raise LeaseHeldError(reader.location, lease)
            seen, since = lease.nonce, now
        left = lease.term_s - (now - since)
        if left <= 0 or newest_epoch(reader) > epoch:
            return
        tell(Waiting(lease=lease, seconds_left=left))
        time.sleep(min(lease.term_s / _POLLS_PER_TERM, left))
