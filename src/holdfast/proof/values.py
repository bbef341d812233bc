"""What a proof says: of each table, whether it holds exactly what it must, and if not, where."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

PIPELINE = "MODULE:PIPELINE"
"""Stands for the pipeline in a next step: only the command knows what it was given."""


class ProofVerdict(StrEnum):
    """The answer for one table, or for several; the later one is the worse one."""

    EXACT = "exact"
    NOT_COMPARED = "not compared"
    NOT_EXACT = "not exact"


class Fault(StrEnum):
    """What is wrong with one row."""

    LOST = "lost"
    """It must be there, and is not."""
    DUPLICATED = "duplicated"
    """It is there more often than it must be."""
    ALTERED = "altered"
    """It is there, with other values."""
    UNEXPECTED = "unexpected"
    """It is there, and does not come from the source."""


class CounterExample(msgspec.Struct, frozen=True, kw_only=True):
    """One row that is not as it must be."""

    fault: Fault
    expected: Mapping[str, object] | None
    """The row as it must be, by column; None when there must be none."""
    found: Mapping[str, object] | None
    """The row as it is; None when there is none."""
    expected_copies: int = 0
    found_copies: int = 0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """How a table differs from what it must hold; counts are rows."""

    expected: int
    found: int
    lost: int = 0
    duplicated: int = 0
    altered: int = 0
    unexpected: int = 0
    examples: tuple[CounterExample, ...] = ()
    """At most ten."""

    @property
    def exact(self) -> bool:
        """Whether the two multisets of rows are equal."""
        return not (self.lost or self.duplicated or self.altered or self.unexpected)


class TableProof(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one table of a stream holds exactly what it must."""

    stream: str
    table: str
    """The sink as people know it: `the Delta table s3a://lake/raw`."""
    compared: Comparison | None
    """None when it was not compared."""
    reason: str = ""
    """Why there is no verdict; empty when there is one."""
    by: tuple[str, ...] = ()
    """The columns that name a row: keys, or where it came from in the source."""
    keys: tuple[str, ...] = ()
    """The columns that rows are merged by; none when they are appended."""
    sequence_by: str | None = None
    last_batch: int | None = None
    """The last batch that the ledger has: the proof covers everything up to it."""
    records: int | None = None
    """How many offsets of Kafka the proof covers; None when the source is another."""
    left_out: tuple[str, ...] = ()
    """What of the table was not compared, one sentence each."""
    next_step: str = ""
    """What to do about it, with the command; empty when there is nothing to do."""

    @property
    def verdict(self) -> ProofVerdict:
        """The answer for this table."""
        if self.compared is None or self.reason:
            return ProofVerdict.NOT_COMPARED
        return ProofVerdict.EXACT if self.compared.exact else ProofVerdict.NOT_EXACT


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the tables of a pipeline hold exactly what they must."""

    pipeline: str
    tables: tuple[TableProof, ...]

    @property
    def verdict(self) -> ProofVerdict:
        """The worst of its tables'; of no table, nothing was compared."""
        order = list(ProofVerdict)
        found = (each.verdict for each in self.tables)
        return max(found, key=order.index, default=ProofVerdict.NOT_COMPARED)

    @property
    def exact(self) -> bool:
        """Whether every table was compared and is exact."""
        return self.verdict is ProofVerdict.EXACT
