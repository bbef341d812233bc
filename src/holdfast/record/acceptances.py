"""Refusals that somebody accepted: each once, by its code and the nonce printed beside it.

A nonce stands for what was found and for how many acceptances there were before: whoever accepts
has read the very refusal that is accepted, and an acceptance cannot be used twice.
"""

from __future__ import annotations

import re
from hashlib import sha256

from holdfast.record.documents import Document, create
from holdfast.record.layout import ACCEPTED, acceptance_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_FILE = re.compile(r"accepted/([0-9]{4,})-HF[0-9]{3}\.json")


class Acceptance(Document, frozen=True, kw_only=True, tag="holdfast.acceptance"):
    """One refusal that was accepted."""

    number: int
    code: str
    what: str
    """What was found, as it was told."""
    epoch: int
    accepted_at: str


def newest_acceptance(reader: Reader) -> int:
    """Return the number of the last acceptance; 0 when there was none."""
    found = (_FILE.fullmatch(info.path) for info in reader.list(ACCEPTED).files)
    return max((int(each[1]) for each in found if each), default=0)


def nonce_of(code: str, what: str, *, before: int) -> str:
    """Return what has to be given to accept a refusal.

    Args:
        code: The rule.
        what: What it found.
        before: The number of the last acceptance.
    """
    return sha256(f"{before}/{code}/{what}".encode()).hexdigest()[:4]


def use_up(writer: Writer, acceptance: Acceptance) -> bool:
    """Write an acceptance down; False when somebody else has used it up."""
    return create(writer, acceptance_path(acceptance.number, acceptance.code), acceptance)
