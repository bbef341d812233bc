"""Everything that a guarded start does with its record, without Spark and without sinks."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.checkpoint.read import read_checkpoint
from holdfast.record.acceptances import Acceptance, newest_acceptance, use_up
from holdfast.record.batches import forget_before, keep_journalled, read_journalled
from holdfast.record.contracts import Contract, contract_before, keep_contract
from holdfast.record.leases import Lease, release, renew, take_lease
from holdfast.record.owner import this_process
from holdfast.record.runs import write_run
from holdfast.streams.place import Place, find_place
from tests.stand_ins import stand_in
from tests.unit.record.hostile.site import (
    CONTRACT,
    DIGEST,
    NOW,
    STREAM,
    Site,
    StubSpark,
    journalled,
    run_of,
)


@dataclass(frozen=True)
class Started:
    """What a start came to know."""

    place: Place
    epoch: int
    before: Contract | None
    """The contract of the last run."""
    accepted: int
    """The number under which a refusal was accepted."""


def start(site: Site, *, checkpoint: str | None = None, stream: str = STREAM) -> Started:
    """Go through G1 to G8, in the order of `hf.start`; what fails leaves no lease behind."""
    place = find_place(stand_in(StubSpark()), stream, str(site.root), checkpoint=checkpoint)
    lease = take_lease(place.record, this_process(), after=site.after)
    try:
        return _run(place.refreshed(), lease)
    finally:
        release(place.record, lease)


def _run(place: Place, lease: Lease) -> Started:
    """Accept a refusal, write down what a start writes, and read a batch that was written down."""
    record = place.record
    read_checkpoint(place.checkpoint)
    before = contract_before(record, epoch=lease.epoch)
    accepted = newest_acceptance(record) + 1
    acceptance = Acceptance(
        number=accepted, code="HF601", what="found", epoch=lease.epoch, accepted_at=NOW
    )
    assert use_up(record, acceptance)
    place.write_down()
    keep_contract(record, CONTRACT)
    write_run(record, run_of(lease.epoch))
    assert renew(record, lease) is not None
    forget_before(record, 1, 1)
    if read_journalled(record, 1, 1, digest=DIGEST, epoch=lease.epoch) is None:
        keep_journalled(record, journalled())
    return Started(place=place, epoch=lease.epoch, before=before, accepted=accepted)
