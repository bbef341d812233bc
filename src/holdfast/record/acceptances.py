"""Refusals that an operator accepted: each once, by its code and the nonce printed beside it.

A grant says that the next start may go past a refusal; `holdfast accept` writes it. An acceptance
says that a start has done so.

A nonce stands for what was found and for how many acceptances there were before: who accepts it
has read the very refusal that is accepted, and an acceptance cannot be used twice. Only the names
of the files are read, so that a broken one stops no start.
"""

from __future__ import annotations

import re
from hashlib import sha256

import msgspec

from holdfast.errors import ConfigError, UnsafePathError
from holdfast.record.bounds import (
    MAX_TEXT,
    AcceptanceNumber,
    EpochNumber,
    Line,
    RuleCode,
    Text,
    Timestamp,
)
from holdfast.record.documents import Document, create, list_record
from holdfast.record.layout import ACCEPTED, acceptance_path, grant_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_ONE = re.compile(r"(HF[0-9]{3}):([0-9a-f]{4})")
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


class Grant(Document, frozen=True, kw_only=True, tag="holdfast.grant"):
    """One refusal that the next start may go past."""

    code: RuleCode
    nonce: Line
    granted_by: Line
    granted_at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return grant_path(self.code, self.nonce)


def is_granted(reader: Reader, code: str, nonce: str) -> bool:
    """Return whether an operator lets the next start go past a refusal.

    Using it up makes the nonce another one, so a grant need not be deleted.

    Raises:
        ReadError: The store did not answer.
    """
    try:
        return reader.stat(grant_path(code, nonce)) is not None
    except UnsafePathError:  # a link: nothing that Holdfast has written
        return False


def read_accept(accept: str | None, *, name: str = "accept=") -> dict[str, str]:
    """Return the nonces that are given, by code: `HF610:7c1f HF611:02ab`.

    Raises:
        ConfigError: It is not of that form.
    """
    parts = (accept or "").replace(",", " ").split()
    matched = [_ONE.fullmatch(part) for part in parts]
    if not all(matched):
        raise ConfigError(
            f"{name} is {accept!r}, which is not CODE:NONCE as a refusal prints it, for example "
            "HF604:7c1f."
        )
    return {each[1]: each[2] for each in matched if each}


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
