"""What the metadata of an Iceberg table says of a stream: its batches, other writers, damage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import holdfast as hf
from holdfast.formats.iceberg_metadata import Column, IcebergTable, Schema, Snapshot
from holdfast.ids import BatchId, QueryId
from holdfast.ledger import NO_BATCH, Binding, LedgerRow
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, RestoreOutput
from holdfast.ledger.store import Since
from holdfast.record.contracts import SinkContract
from holdfast.sinks.iceberg.change import find_change
from holdfast.sinks.iceberg.notes import (
    Written,
    branch_of,
    decode_row,
    encode_note,
    encode_row,
    property_of,
    streams_in,
)
from holdfast.sinks.iceberg.settle import Settling
from holdfast.sinks.iceberg.versions import find_batch_versions, find_version_before

ROW = LedgerRow(
    stream="readings",
    sink="lake.db.readings",
    generation=1,
    epoch=3,
    nonce="n",
    binding=Binding(query_id=QueryId("q"), checkpoint="c"),
    last_batch=NO_BATCH,
    digest=None,
    end_offsets="{}",
)
ADDED = {"operation": "append", "added-data-files": "1", "added-records": "2"}
OTHER = {**ADDED, "engine-name": "spark"}


def noted(batch: int, *, generation: int = 1, **more: Any) -> dict[str, str]:
    row = replace(ROW, last_batch=BatchId(batch), generation=generation)
    return {**(ADDED if batch >= 0 else {"operation": "append"}), **encode_note(row, **more)}


def table(*summaries: dict[str, str], **changes: Any) -> IcebergTable:
    """Snapshots 1, 2, 3 … of `main`, each on the one before."""
    snapshots = {
        number: Snapshot(
            snapshot_id=number,
            parent_id=number - 1 or None,
            timestamp_ms=number,
            summary=summary,
            schema_id=0,
        )
        for number, summary in enumerate(summaries, 1)
    }
    columns = Schema(schema_id=0, fields=(Column(id=1, name="id", type="long"),))
    found = {
        "path": "v1",
        "uuid": "u",
        "current_id": len(summaries),
        "properties": {},
        "snapshots": snapshots,
        "schemas": {0: columns},
    }
    return IcebergTable(**{**found, **changes})


class Step:
    """As much of a step as is looked at."""

    def __init__(self, newest: IcebergTable, *older: IcebergTable) -> None:
        self._newest, self._older = newest, older
        self.uuid, self.head = newest.uuid, newest.current_id

    def metadata(self) -> IcebergTable:
        return self._newest

    def older(self) -> Iterator[IcebergTable]:
        return iter(self._older)


def change(newest: IcebergTable, *older: IcebergTable, snapshot: int, uuid: str = "u") -> str:
    step: Any = Step(newest, *older)
    return find_change(step, Written(row=ROW, snapshot=snapshot, uuid=uuid)) or ""


def settling(found: IcebergTable) -> Settling:
    return Settling(table=found, display_name="the table", stream="readings")


THREE = (noted(-1), noted(0), noted(1))


def test_a_row_comes_back_from_its_property() -> None:
    found = decode_row(encode_row(ROW, snapshot=5, uuid="u"))
    assert found == Written(row=ROW, snapshot=5, uuid="u")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"snapshot": 1}', "\0", "9" * 5000])
def test_what_is_no_row_is_none(text: str) -> None:
    assert decode_row(text) is None


def test_only_properties_with_rows_name_streams() -> None:
    row = encode_row(ROW, snapshot=5, uuid="u")
    assert streams_in({property_of("readings"): row, "holdfast.x": "y", "a": row}) == ["readings"]


def test_branches_of_streams_and_epochs_differ() -> None:
    assert len({branch_of(stream, epoch) for stream in ("a", "b") for epoch in (1, 2)}) == 4


def test_each_batch_has_the_newest_snapshot_that_ends_with_it() -> None:
    fence = {**noted(1), "added-data-files": "0"}
    found = table(*THREE, fence)
    assert find_batch_versions(found, "readings") == {-1: "1", 0: "2", 1: "4"}
    assert find_version_before(found, "readings", generation=1, batch=1) == "2"
    assert find_version_before(found, "readings", generation=1, batch=7) is None


def test_what_was_there_before_rows_were_put_back_is_not_in_the_history_of_main() -> None:
    back, emptied = noted(0, generation=2, restored=2), noted(0, generation=2)
    assert find_version_before(table(*THREE, back), "readings", generation=2, batch=0) is None
    assert find_version_before(table(*THREE, emptied), "readings", generation=2, batch=0) == "3"


def test_rows_that_were_carried_over_belong_to_the_batch() -> None:
    marker = {**noted(1, data=4), "added-data-files": "0"}
    found = table(*THREE[:2], OTHER, ADDED, marker)
    assert find_batch_versions(found, "readings")[1] == "5"
    assert find_version_before(found, "readings", generation=1, batch=1) == "3"
    since = settling(found).since(1)
    assert since.others == ("Snapshot 3 (append) was committed by another writer",)


def test_nothing_changed_where_main_comes_from_the_row() -> None:
    assert not change(table(*THREE), snapshot=3)
    assert not change(table(*THREE, OTHER, {"operation": "replace"}), snapshot=3)


@pytest.mark.parametrize(
    ("found", "snapshot", "why"),
    [
        (table(*THREE), 9, "does not come from"),
        (table(*THREE, current_id=None), 3, "empty"),
        (table(*THREE, {"operation": "delete", "deleted-records": "4"}), 3, "every row"),
        (table(*THREE, noted(2)), 3, "published what the stream had staged"),
        (table(*THREE, {**OTHER, "source-snapshot-id": "3"}), 2, "published what"),
    ],
)
def test_a_table_that_lost_rows_is_told(found: IcebergTable, snapshot: int, why: str) -> None:
    assert why in change(found, snapshot=snapshot)


def test_another_table_is_told_by_its_id() -> None:
    assert "another table" in change(table(*THREE), snapshot=3, uuid="v")


def test_another_stream_may_rewrite_every_row_of_its_keys() -> None:
    merged = {"operation": "overwrite", "deleted-records": "2", "added-records": "2"}
    merged |= {"total-records": "2", **encode_note(replace(ROW, stream="other"))}
    assert not change(table(*THREE, merged), snapshot=3)


def test_an_expired_history_is_followed_through_older_metadata() -> None:
    newest = table(*THREE, OTHER, OTHER, OTHER)
    cut = table(*THREE, OTHER, OTHER, OTHER, snapshots={6: newest.snapshots[6]})
    five, four = (table(*THREE, *(OTHER,) * more) for more in (2, 1))
    assert not change(cut, five, four, table(*THREE), snapshot=3)
    assert "do not show" in change(cut, five, snapshot=3)
    gone = table(noted(-1), OTHER, OTHER, OTHER, current_id=3)
    assert "does not come from" in change(cut, table(OTHER, current_id=77), gone, snapshot=2)


def test_a_table_is_emptied_only_as_it_was_seen() -> None:
    found = settling(table(*THREE, OTHER))
    assert found.find_obstacle(EmptyOutput(kept="4")) is None
    assert found.find_obstacle(EmptyOutput(kept="4"), seen="4") is None
    assert "another writer" in str(found.find_obstacle(EmptyOutput(kept="4"), seen="3"))


def test_a_snapshot_comes_back_while_it_is_there_and_nothing_else_goes() -> None:
    def obstacle(found: IcebergTable, kept: str) -> str:
        return settling(found).find_obstacle(RestoreOutput(kept=kept, aside="3")) or ""

    assert not obstacle(table(*THREE), "2")
    assert "no such snapshot" in obstacle(table(*THREE), "9")
    assert "no such snapshot" in obstacle(table(*THREE), "x")
    assert "another writer" in obstacle(table(*THREE, OTHER), "2")
    gone = Schema(schema_id=1, fields=(Column(id=2, name="id", type="long"),))
    assert "is gone" in obstacle(
        table(*THREE, schemas={**table().schemas, 1: gone}, schema_id=1), "2"
    )


def test_what_came_since_a_generation_is_told() -> None:
    opened = {"operation": "delete", **encode_note(replace(ROW, generation=2))}
    since = settling(table(*THREE, opened)).since(2)
    assert since == Since(own_rows=0)
    assert settling(table(*THREE, opened, noted(0, generation=2))).since(2) == Since(own_rows=None)
    both = settling(table(*THREE, opened, OTHER, noted(0, generation=2)))
    assert both.since(2).unclear
    output = ExchangeOutput(generation=2, kept="3", aside="5", rows=None)
    assert both.find_obstacle(output)
    assert settling(table(*THREE)).since(2).unclear


def test_a_sink_names_a_table_with_its_catalog() -> None:
    for wrong in ("readings", "", "a b.c", "a.b; DROP TABLE c"):
        with pytest.raises(hf.ConfigError):
            hf.Iceberg(table=wrong)
    sink = hf.Iceberg(table="lake.db.`odd name`", keys=["id"], sequence_by="at")
    contract = SinkContract(
        kind="iceberg",
        place=sink.place,
        label=sink.label,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        secret=None,
    )
    assert hf.Iceberg.from_contract(contract) == sink
