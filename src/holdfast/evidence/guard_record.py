"""What Holdfast's record says of the stream that a checkpoint belongs to, read beside it.

The record of a checkpoint at `<root>/<name>` is `<root>/_holdfast/<stream>`. One that was adopted
lies elsewhere, and its record is not found from it.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec
from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.errors import HoldfastError
from holdfast.evidence.outcomes import NextStart, Resumes, RunsAgain
from holdfast.evidence.overview import Overview
from holdfast.record.contracts import Contract, read_contract
from holdfast.record.epochs import newest_epoch
from holdfast.record.generations import UNDONE, Generation, read_generations
from holdfast.record.last_run import last_run_of
from holdfast.record.layout import HOME, is_stream_name, lease_path
from holdfast.record.leases import Lease, read_lease
from holdfast.record.owner import is_certainly_dead
from holdfast.record.runs import Run
from holdfast.storage.below import SubdirReader
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import Reader

_GENERATION = re.compile(r"(?P<stream>.+)\.g(?P<number>[1-9][0-9]{0,3})")


class GuardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the record of a stream says."""

    stream: str
    generation: Generation
    """The one that this checkpoint belongs to."""
    newest_generation: int
    lease: Lease | None
    """Of the newest epoch; None when the stream was never started."""
    renewed: datetime | None
    """When the lease was last written, by the store's clock."""
    run: Run | None
    """The newest on this checkpoint."""
    contract: Contract | None
    """Of that run."""
    is_running: bool = False
    """Whether a driver holds the lease, and had renewed it within its term when it was read."""

    @property
    def is_replaced(self) -> bool:
        """Whether a later generation is current, so that this checkpoint is not started again."""
        return self.generation.number < self.newest_generation

    @property
    def has_ledgers(self) -> bool:
        """Whether every sink of the newest run keeps a ledger; False when that is not known."""
        if self.contract is None or self.is_replaced or not self.contract.sinks:
            return False
        return {each.label for each in self.contract.sink_places} == set(self.contract.sinks)

    def recognises_batches(self, checkpoint: Checkpoint) -> bool:
        """Return whether the ledgers of the sinks belong to the query of a checkpoint."""
        found = checkpoint.metadata
        is_same = isinstance(found, QueryMetadata) and found.query_id == self.generation.query_id
        return is_same and self.has_ledgers

    @property
    def is_stateless(self) -> bool:
        """Whether the newest run had no stateful operator; False when that is not known."""
        return self.contract is not None and not self.contract.operators


class UnreadableRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that could not be read, or names another checkpoint."""

    why: str


def settle_state(overview: Overview, record: GuardRecord | None) -> Overview:
    """Return the predictions without the condition that the query is stateless, if it is."""
    if record is None or not record.is_stateless:
        return overview
    others = {version: _settled(each) for version, each in overview.elsewhere.items()}
    return replace(overview, next_start=_settled(overview.next_start), elsewhere=others)


def _settled(found: NextStart) -> NextStart:
    return replace(found, unless=None) if isinstance(found, Resumes | RunsAgain) else found


def split_generation(name: str) -> tuple[str, int]:
    """Return the stream and the generation that the name of a checkpoint's directory means."""
    matched = _GENERATION.fullmatch(name)
    return (matched["stream"], int(matched["number"])) if matched else (name, 1)


def read_guard_record(
    root: Reader, name: str, *, adopted_from: Location | None = None
) -> GuardRecord | UnreadableRecord | None:
    """Read the record of the stream whose checkpoint has a name below a root; None without one.

    Args:
        root: Reads the directory that the checkpoint is in.
        name: Of the checkpoint's directory.
        adopted_from: Where the checkpoint is, if the stream of that name adopted it.
    """
    place = adopted_from or root.location.join(name)
    stream, number = split_generation(name)
    if not is_stream_name(stream):
        return None
    record = SubdirReader(root, f"{HOME}/{stream}")
    try:
        generations = {each.number: each for each in read_generations(record)}
        undone = (each for each in generations.values() if each.why == UNDONE)
        again = [each for each in undone if is_same_place(parse_location(each.checkpoint), place)]
        own = again[-1] if again else generations.get(number)
        if own is None:
            return None
        if not is_same_place(parse_location(own.checkpoint), place):
            return UnreadableRecord(why=f"{own.path} names the checkpoint {own.checkpoint}.")
        return _read(record, stream, own, newest=max(generations))
    except HoldfastError as error:
        return UnreadableRecord(why=error.why)


def _read(record: Reader, stream: str, own: Generation, *, newest: int) -> GuardRecord:
    epoch = newest_epoch(record)
    lease = read_lease(record, epoch) if epoch else None
    written = record.stat(lease_path(epoch)) if lease else None
    renewed = None if written is None else written.modified
    run = last_run_of(record, own)
    return GuardRecord(
        stream=stream,
        generation=own,
        newest_generation=newest,
        lease=lease,
        renewed=renewed,
        run=run,
        contract=None if run is None else read_contract(record, run.contract),
        is_running=_is_running(lease, renewed),
    )


def _is_running(lease: Lease | None, renewed: datetime | None) -> bool:
    """Return whether a lease shows a living driver.

    It compares the store's clock with ours: good enough to show, and nothing is decided by it.
    """
    if lease is None or renewed is None or lease.released or is_certainly_dead(lease.owner):
        return False
    return abs((clock.now() - renewed).total_seconds()) <= lease.term_s
