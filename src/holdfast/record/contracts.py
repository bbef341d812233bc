"""Contracts: what a query is, as a guarded start saw it. One file for each form it ever had.

With the generation (checkpoint, query id), the runs (Spark version, restarts) and the checkpoint
itself (offsets), these are the nine facts that are collected before any advice is given. A source
is written down without its options, which can hold passwords.

A contract informs. One that is broken or missing is *unknown*: the start goes on, says so, and does
not take a sink for a new one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from holdfast.errors import HoldfastError
from holdfast.printable import printable
from holdfast.record.bounds import Line, Names, Sources
from holdfast.record.documents import Document, RecordError, create, read_document, replace
from holdfast.record.layout import contract_path
from holdfast.record.runs import newest_run
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_LOG = logging.getLogger("holdfast")
LARGEST_BYTES = 4 << 20
"""A Kafka source names its topics: 16,000 of the longest names fit."""


class Contract(Document, frozen=True, kw_only=True, tag="holdfast.contract"):
    """What a query is."""

    sources: Sources
    """Each as Spark names it, in the order of the query: `kafka`, `FileSource[s3a://lake/in]`."""
    sinks: Names
    output_mode: Line
    operators: Names
    """Of those with state, their names in the order of their ids."""
    state_provider: Line
    """Class of the state store's provider, without its package; empty without state."""

    @property
    def digest(self) -> str:
        """Names the file: the same contract is the same file."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return contract_path(self.digest)


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
    return printable((fact if isinstance(fact, str) else ", ".join(fact)) or "none")


def keep_contract(writer: Writer, contract: Contract) -> None:
    """Write a contract down, unless it is there already; a failure is logged and stops nothing."""
    try:
        if not create(writer, contract):
            # Its name is the hash of its content: whatever else is there is broken.
            replace(writer, contract)
    except HoldfastError as error:
        _LOG.warning("holdfast: the contract was not written: %s %s", error.why, error.how)


def read_contract(reader: Reader, digest: str) -> Contract | None:
    """Read a contract.

    Raises:
        ReadError, RecordError: It cannot be read.
    """
    return read_document(reader, contract_path(digest), Contract, limit=LARGEST_BYTES)


def contract_before(reader: Reader, *, epoch: int) -> Contract | None:
    """Return the contract of the last run before an epoch; None when there is none, or unknown.

    A broken run or contract is logged with its repair. No older run is taken in its place: a sink
    that the last run had, and that run had not, would look like a new one.

    Raises:
        ReadError: The store did not answer.
    """
    try:
        last = newest_run(reader, before=epoch)
        found = read_contract(reader, last.contract) if last else None
    except RecordError as error:
        _LOG.warning(
            "holdfast: the contract of the last run is unknown: %s %s %s",
            error.what,
            error.why,
            error.how,
        )
        return None
    if last is not None and found is None:
        _LOG.warning(
            "holdfast: the contract of the last run is unknown: %s is missing",
            contract_path(last.contract),
        )
    return found
