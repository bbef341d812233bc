"""Refusals that an operator accepted: each once, by its code and the nonce printed beside it.

A nonce stands for what was found and for how many acceptances there were before: who accepts it
has read the very refusal that is accepted, and an acceptance cannot be used twice. Only the names
of the files are read, so that a broken one stops no start.
"""

from __future__ import annotations

import re
from hashlib import sha256

import msgspec

from holdfast.record.bounds import (
    MAX_TEXT,
    AcceptanceNumber,
    EpochNumber,
    RuleCode,
    Text,
    Timestamp,
)
from holdfast.record.documents import Document, create, list_record
from holdfast.record.layout import ACCEPTED, acceptance_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_NAME = re.compile(r"([0-9]{4,15})-HF[0-9]{3}\.json")
_GAP = 1_000
"""Numbers are given out one by one; a file this far above the one before it was forged."""


class Acceptance(Document, frozen=True, kw_only=True, tag="holdfast.acceptance"):
    """One refusal that was accepted."""

    number: AcceptanceNumber
    code: RuleCode
    what: Text
    """What was found, as it was told."""
    epoch: EpochNumber
    accepted_at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return acceptance_path(self.number, self.code)


def newest_acceptance(reader: Reader) -> int:
    """Return the number of the last acceptance; 0 when there was none.

    Raises:
        ReadError, RecordError: The directory cannot be listed.
    """
    listing = list_record(reader, ACCEPTED)
    names = (*(info.path.rpartition("/")[2] for info in listing.files), *listing.directories)
    newest = 0
    for number in sorted(int(each[1]) for each in map(_NAME.fullmatch, names) if each):
        if number > newest + _GAP:
            break
        newest = number
    return newest


def nonce_of(code: str, what: str, *, before: int) -> str:
    """Return what has to be given to accept a refusal.

    Args:
        code: The rule.
        what: What it found.
        before: The number of the last acceptance.
    """
    return sha256(f"{before}/{code}/{what}".encode()).hexdigest()[:4]


def use_up(writer: Writer, acceptance: Acceptance) -> bool:
    """Write an acceptance down; False when another start has used it up."""
    return create(writer, msgspec.structs.replace(acceptance, what=acceptance.what[:MAX_TEXT]))
