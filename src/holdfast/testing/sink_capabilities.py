"""What a sink must do that says it can: settle its rows, go back to versions, give its contents.

What a sink does not say it can do is skipped; it must then refuse it, and change nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from holdfast.errors import HoldfastError
from holdfast.ids import BatchId
from holdfast.ledger import Apply
from holdfast.ledger.output import COPY, EmptyOutput, ExchangeOutput, Output, RestoreOutput
from holdfast.ledger.store import LedgerStore, Since
from holdfast.sinks.sink import Capability, SinkSpec, SinkWriter
from holdfast.testing.sink_batches import (
    FIRST,
    SECOND,
    STREAM,
    THREE,
    Batches,
    SinkFixtures,
    kept_name,
    ledger_of,
    opening,
    row_of,
)


class CapabilityContract(SinkFixtures):
    """The contract of what a sink can do beside taking batches."""

    def test_an_undo_of_a_reset_gives_its_rows_back(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """`settle`: the sink is emptied in the step that sets its row, and gets the same rows."""
        ledger = _able_to(Capability.SETTLE, sink, writer)
        before = self.write_three(writer, batches)
        kept = kept_name(ledger, 1)
        stale = replace(before, digest="x")
        assert not ledger.settle(stale, opening(before, epoch=2), EmptyOutput(kept=kept))
        self.check_rows(sink, batches.spark, *THREE)
        reset = opening(before, epoch=3)
        assert ledger.find_obstacle(reset, EmptyOutput(kept=kept)) is None
        assert ledger.settle(row_of(ledger), reset, EmptyOutput(kept=kept))
        assert row_of(ledger) == reset
        self.check_rows(sink, batches.spark)
        back = replace(before, generation=3, epoch=4, nonce="n4")
        output = ExchangeOutput(generation=2, kept=kept, aside=kept_name(ledger, 2), rows=0)
        assert ledger.since(STREAM, generation=2) == Since(own_rows=0)
        assert ledger.settle(row_of(ledger), back, output)
        assert row_of(ledger) == back
        self.check_rows(sink, batches.spark, *THREE)

    def test_an_undo_takes_away_what_came_since(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """`settle`, where rows can be told apart: those of the new generation go, others come."""
        ledger = _able_to(Capability.SETTLE, sink, writer)
        before = self.write_three(writer, batches)
        kept = kept_name(ledger, 1)
        assert ledger.settle(before, opening(before, epoch=2), EmptyOutput(kept=kept))
        attempt = replace(batches.attempt(writer, 0), generation=2, epoch=2, nonce="n2")
        assert writer.write(attempt, batches.frame(SECOND)) == Apply()
        since = ledger.since(STREAM, generation=2)
        back = replace(before, generation=3, epoch=3, nonce="n3")
        output = ExchangeOutput(
            generation=2, kept=kept, aside=kept_name(ledger, 2), rows=since.own_rows
        )
        if since.unclear:
            assert Capability.VERSIONS not in sink.capabilities
            assert ledger.find_obstacle(back, output) is not None
            with pytest.raises(HoldfastError):
                ledger.settle(row_of(ledger), back, output)
            self.check_rows(sink, batches.spark, *SECOND)
            return
        assert ledger.settle(row_of(ledger), back, output)
        self.check_rows(sink, batches.spark, *THREE)

    def test_what_cannot_be_settled_is_left_as_it_was(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """Rows, ledger row or copy: either all of a settling happens, or nothing does."""
        before = self.write_three(writer, batches)
        ledger = ledger_of(writer)
        new = opening(before, epoch=2)
        output: Output = EmptyOutput(kept=kept_name(ledger, 1))
        if Capability.SETTLE in sink.capabilities:
            gone = "999" if ledger.keeps_versions else f"{COPY}none"
            output = RestoreOutput(kept=gone, aside=kept_name(ledger, 1))
        else:
            assert ledger.find_obstacle(new, output) is not None
        with pytest.raises(HoldfastError):
            ledger.settle(before, new, output)
        self.check_rows(sink, batches.spark, *THREE)
        assert replace(row_of(ledger), epoch=1, nonce="n1") == before

    def test_the_sink_goes_back_to_an_older_version(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """`versions`: it holds just the batches up to one, and the next can follow."""
        ledger = _able_to(Capability.VERSIONS, sink, writer)
        before = self.write_three(writer, batches)
        versions = ledger.batch_versions(STREAM)
        assert set(versions) >= {0, 1, 2}
        first = replace(before, last_batch=BatchId(0), digest="d0", end_offsets="e0")
        rewound = replace(first, generation=2, epoch=2, nonce="n2")
        output = RestoreOutput(kept=versions[0], aside=kept_name(ledger, 1))
        assert ledger.settle(before, rewound, output)
        self.check_rows(sink, batches.spark, *FIRST)
        attempt = replace(batches.attempt(writer, 1), generation=2, epoch=2, nonce="n2")
        assert writer.write(attempt, batches.frame(SECOND)) == Apply()
        self.check_rows(sink, batches.spark, *FIRST, *SECOND)

    def test_another_writer_is_noticed(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """`versions`: what went back would take its rows away."""
        ledger = _able_to(Capability.VERSIONS, sink, writer)
        self.write_three(writer, batches)
        seen = ledger.table_version(STREAM)
        assert not ledger.has_changed(STREAM, seen)
        other = batches.start(sink, stream="other")
        assert ledger_of(other).replace(None, replace(batches.row(other), stream="other"))
        attempt = replace(batches.attempt(other, 0), stream="other")
        assert other.write(attempt, batches.frame(SECOND)) == Apply()
        other.close()
        ledger.close()
        assert ledger.has_changed(STREAM, seen)
        assert ledger.other_streams(STREAM) or not ledger.batch_versions(STREAM)

    def test_the_rows_can_be_read_back(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """`contents`: all rows, with the ledger row of the same moment."""
        ledger = _able_to(Capability.CONTENTS, sink, writer)
        before = self.write_three(writer, batches)
        opened = sink.open_contents(batches.frame([]), stream=STREAM)
        assert opened is not None
        with opened as held:
            assert held.row == before == row_of(ledger)
            expected = held.comparable(held.newest(batches.frame(THREE)))
            assert Counter(held.rows.collect()) == Counter(expected.collect())


def _able_to(capability: Capability, sink: SinkSpec, writer: SinkWriter) -> LedgerStore:
    if capability not in sink.capabilities:
        pytest.skip(f"{type(sink).__name__} does not have the capability {capability}")
    return ledger_of(writer)
