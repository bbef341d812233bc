"""Holdfast's own files beside a checkpoint: what a stream is meant to be, and who runs it."""

from __future__ import annotations

from holdfast.record.documents import RecordError
from holdfast.record.epochs import newest_epoch
from holdfast.record.generations import Generation, current_generation, open_generation
from holdfast.record.leases import Lease, Waiting, release, renew, take_lease
from holdfast.record.owner import Owner, is_certainly_dead, this_process

__all__ = [
    "Generation",
    "Lease",
    "Owner",
    "RecordError",
    "Waiting",
    "current_generation",
    "is_certainly_dead",
    "newest_epoch",
    "open_generation",
    "release",
    "renew",
    "take_lease",
    "this_process",
]
