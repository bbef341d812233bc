"""Leases: who may run a stream. One file per epoch, made once; the highest number is the newest.

Taking the next epoch is one put-if-absent, so of any number of starters one gets it. A lease is
given up by its owner, or it is dead: its process is gone from this machine, or its heartbeat (a
nonce that its owner replaces) did not change for its whole term on *our* monotonic clock. Clocks of
two machines are never compared. What a lease cannot promise, the fence in the sink does: an owner
that was taken for dead and resumes writes nothing.

Whoever takes an epoch after N also creates the file of N + 1, if it is not the one taken. So the
owner of N, and a start that waits for it, look at that one name and list nothing.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.record.bounds import EpochNumber, TermSeconds, Timestamp, Token
from holdfast.record.documents import Document, create, read_document, refuse, replace
from holdfast.record.epochs import is_taken, newest_epoch
from holdfast.record.layout import lease_path
from holdfast.record.owner import Owner, is_certainly_dead
from holdfast.storage.location import Location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

TERM_S = 30.0
"""For how long an unchanged heartbeat is waited for; renewed every third of it."""
_POLLS_PER_TERM = 30


class LeaseHeldError(HoldfastError):
    """Another driver runs the stream, and it is alive."""

    code = "LEASE_HELD"
    retryable = True

    def __init__(self, record: Location, lease: Lease) -> None:
        self.owner = lease.owner
        super().__init__(
            what=f"{record.name} was not started; nothing was written.",
            why=f"Driver {lease.owner} runs it since {lease.taken_at or 'an unknown time'} (epoch "
            f"{lease.epoch}), and renewed its lease during the {lease.term_s:.0f} s that this "
            "start waited.",
            how="Stop that driver, or start here with takeover=True: the sinks then refuse what it "
            "still writes, and it ends within one batch.",
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


SECONDS_OF_SILENCE = 10
"""Between two lines about the same wait."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What is told while a living lease is waited for."""

    stream: str
    lease: Lease
    seconds_left: float
    """Until it has run out, if no heartbeat comes."""
    seconds_waited: float
    is_renewed: bool = False
    """Whether a heartbeat came while it was waited for: the owner lives."""

    def say_end(self, doing: str, *, refused: str) -> str:
        """Say how the wait ends. The seconds only fall: a heartbeat does not begin them again.

        Args:
            doing: What waits: `this start`.
            refused: How that ends if the owner goes on: `in LEASE_HELD`.
        """
        term = self.lease.term_s
        # It takes the first heartbeat after a whole term.
        ends = f"ends {refused} within {max(term - self.seconds_waited, 0) + term / 2:.0f} s"
        if self.is_renewed:
            return f"That driver is running. Unless it stops, {doing} {ends}"
        return (
            f"If that driver is gone, {doing} goes on in {self.seconds_left:.0f} s; if it lives, "
            f"{doing} {ends}"
        )


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
    token: str = "",
) -> Lease:
    """Take the next epoch, as soon as no driver holds the one before.

    Args:
        writer: Of the stream's record.
        owner: Who takes it.
        takeover: Do not wait for a living owner; the fence keeps that safe.
        after: The highest epoch that any sink holds, 0 if none holds one yet, so that a record from
            a backup gives out no epoch again; None if no sink has a ledger.
        tell: Called every second or so while a living owner is waited for.
        term_s: Of the new lease.
        token: By which the start finds it again; empty: a new one.

    Raises:
        ReadError, WriteError, RecordError: The store did not answer, or a lease cannot be read.
        EpochJumpError: The newest epoch is not one that a start can have been given.
        LeaseHeldError: A driver that is alive holds it.
    """
    while True:
        newest = newest_epoch(writer, after=after)
        if newest and not takeover:
            _wait_until_free(writer, newest, tell)
        lease = _next_lease(max(newest, after or 0) + 1, owner, term_s=term_s, token=token)
        if 0 < newest < lease.epoch - 1:
            # The owner of the newest epoch looks at this name alone, whosever file it is.
            create(writer, msgspec.structs.replace(lease, epoch=newest + 1, released=True))
        if create(writer, lease):
            return lease
        if newest_epoch(writer, after=after) < lease.epoch:
            why = "The store says that a file is there, and does not list it."
            raise refuse(writer, lease.path, why=why)


def _next_lease(epoch: int, owner: Owner, *, term_s: float, token: str) -> Lease:
    return Lease(
        epoch=epoch,
        owner=owner,
        token=token or uuid.uuid4().hex,
        nonce=uuid.uuid4().hex,
        term_s=term_s,
        taken_at=clock.now().isoformat(timespec="seconds"),
    )


def renew(writer: Writer, lease: Lease) -> Lease | None:
    """Show that the owner lives; None when a newer epoch has been taken, and the lease is lost.

    Two requests, whatever the record holds: the next epoch's name is looked at, the lease is
    written. A successor creates that name before its own lease, also when the sinks made it take a
    much higher epoch, so the next heartbeat of the owner finds it. One case is left: the record was
    replaced by an older one under a running owner, and its successor took an epoch that is not the
    next before the owner wrote its lease again. Then the owner learns it from a sink: the successor
    fences every sink before its query starts, and a fenced owner commits nothing. A stream into
    functions alone (`hf.ForeachBatch`) has no fence: there, deleted lease files can hide two owners
    from each other.

    Raises:
        ReadError, WriteError: The store did not answer.
    """
    if is_taken(writer, lease.epoch + 1):
        return None
    fresh = msgspec.structs.replace(lease, nonce=uuid.uuid4().hex)
    replace(writer, fresh)
    return fresh


def release(writer: Writer, lease: Lease) -> None:
    """Give a lease up, so that the next start need not wait."""
    replace(writer, msgspec.structs.replace(lease, released=True))


def _wait_until_free(reader: Reader, epoch: int, tell: Callable[[Waiting], None]) -> None:
    """Wait until an epoch's owner is gone; return at once when it is not the newest any more.

    Raises:
        LeaseHeldError: The owner still renews its lease after a whole term: it is alive.
    """
    seen, began, beats = None, clock.monotonic(), 0
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
            beats += seen is not None
            seen, since = lease.nonce, now
        left = lease.term_s - (now - since)
        if left <= 0 or is_taken(reader, epoch + 1):
            return
        name, waited = reader.location.name, now - began
        tell(
            Waiting(
                stream=name,
                lease=lease,
                seconds_left=left,
                seconds_waited=waited,
                is_renewed=beats > 0,
            )
        )
        time.sleep(min(lease.term_s / _POLLS_PER_TERM, left))
