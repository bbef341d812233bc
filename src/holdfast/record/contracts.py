"""Contracts: what a query is, as a guarded start saw it. One file for each form it ever had.

With the generation (checkpoint, query id), the runs (Spark version, restarts) and the checkpoint
itself (offsets), these are the nine facts that are collected before any advice is given. A source
is written down without its options, which can hold passwords.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from holdfast.record.documents import Document, create, read_document
from holdfast.record.layout import contract_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer


class Contract(Document, frozen=True, kw_only=True, tag="holdfast.contract"):
    """What a query is."""

    sources: tuple[str, ...]
    """Each as Spark names it, in the order of the query: `kafka`, `FileSource[s3a://lake/in]`."""
    sinks: tuple[str, ...]
    output_mode: str
    operators: tuple[str, ...]
    """Of those with state, their names in the order of their ids."""
    state_provider: str
    """Class of the state store's provider, without its package; empty without state."""

    @property
    def digest(self) -> str:
        """Names the file: the same contract is the same file."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]


def tell_changes(old: Contract, new: Contract) -> tuple[str, ...]:
    """Say what of a query has changed, one sentence each."""
    pairs = {
        "sources": (old.sources, new.sources),
        "sinks": (old.sinks, new.sinks),
        "output mode": (old.output_mode, new.output_mode),
        "operators with state": (old.operators, new.operators),
        "state store": (old.state_provider, new.state_provider),
    }
    return tuple(
        f"its {name} changed from {_told(before)} to {_told(after)}"
        for name, (before, after) in pairs.items()
        if before != after
    )


def _told(fact: str | Sequence[str]) -> str:
    return (fact if isinstance(fact, str) else ", ".join(fact)) or "none"


def keep_contract(writer: Writer, contract: Contract) -> None:
    """Write a contract down, unless it is there already."""
    create(writer, contract_path(contract.digest), contract)


def read_contract(reader: Reader, digest: str) -> Contract | None:
    """Read a contract."""
    return read_document(reader, contract_path(digest), Contract)
