"""What a proof says to do: the command that fits the table."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

import holdfast as hf
from holdfast.proof.values import Comparison
from holdfast.sinks.sink import SinkSpec
from holdfast.sources.delta.ranges import DeltaRange
from holdfast.sources.files.ranges import FileRange
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.sources.ranges import Ranges
from holdfast.spark.plans import Aggregation
from holdfast.streams.batch_form import BatchForm, KeptState
from holdfast.streams.covered import Covered
from holdfast.streams.proof_advice import advise, advise_unknown
from tests.stand_ins import stand_in

MERGED = hf.Postgres("env:DSN", table="t", keys=["k"], sequence_by="s")
APPENDED = hf.Postgres("env:DSN", table="t")
LOST = Comparison(expected=2, found=1, lost=1)
DELTA_END = {"reservoirId": "a", "reservoirVersion": 4, "index": -1, "isStartingVersion": False}
KAFKA = KafkaRange(start={"t": {0: 5}}, end={"t": {0: 9}})
DELTA = DeltaRange(table_id="a", after=-1, through=3)
FILES = FileRange(files=("a",))


class Place:
    stream = "readings"
    plan_root = "/srv/my streams"


def told(sink: SinkSpec, compared: Comparison, ranges: Ranges, *, end: object) -> str:
    covered = Covered(form=BatchForm(df=stand_in(None), doubts=()), ranges=(ranges,))
    place = cast("Any", Place())
    return advise(sink, compared, covered, place=place, end=json.dumps({"0": end}))


@pytest.mark.parametrize(
    ("found", "end", "options"),
    [
        (KAFKA, {"t": {"0": 9}}, """--from '{"t": {"0": 5}}' --to '{"t": {"0": 9}}'"""),
        (DELTA, {"sourceVersion": 1, **DELTA_END}, "--from 0 --to 4"),
        (FILES, {"logOffset": 6}, "--from 0 --to 7"),
    ],
)
def test_lost_rows_of_a_merged_table_are_backfilled(found: Any, end: object, options: str) -> None:
    said = told(MERGED, LOST, {"0": found}, end=end)
    assert f"holdfast backfill MODULE:PIPELINE readings {options} --execute" in said


def test_a_sink_that_gives_nothing_back_is_computed_again_into_another_one() -> None:
    sink = hf.Kafka("env:SERVERS", topic="t")
    said = told(sink, LOST, {"0": KAFKA}, end={"t": {"0": 9}})
    assert "into another one" in said
    assert "--output new-table" in said


@pytest.mark.parametrize(
    ("sink", "compared"),
    [
        (APPENDED, LOST),
        (MERGED, Comparison(expected=1, found=2, duplicated=1)),
        (MERGED, Comparison(expected=2, found=2, altered=1, lost=1)),
        (hf.Postgres("env:DSN", table="t", keys=["k"]), LOST),
    ],
)
def test_everything_else_is_computed_again(sink: SinkSpec, compared: Comparison) -> None:
    reset = "holdfast plan reset readings --root '/srv/my streams' --from"
    said = told(sink, compared, {"0": DELTA}, end={"sourceVersion": 1, **DELTA_END})
    assert f"{reset} earliest --output truncate --cascade" in said
    # A stream that was given a position begins there again.
    said = told(sink, compared, {"0": KAFKA}, end={"t": {"0": 9}})
    assert f"""{reset} '{{"t": {{"0": 5}}}}' --output truncate""" in said


def test_a_stream_with_state_is_never_backfilled() -> None:
    shape = Aggregation(columns={}, event_time=None, output_mode="update")
    state = KeptState(shape=shape, entering=stand_in(None), late=0)
    form = BatchForm(df=stand_in(None), doubts=(), state=state)
    covered = Covered(form=form, ranges=({"0": KAFKA},))
    end = json.dumps({"0": {"t": {"0": 9}}})
    said = advise(MERGED, LOST, covered, place=cast("Any", Place()), end=end)
    assert "holdfast plan reset readings" in said


def test_an_exact_table_needs_nothing() -> None:
    assert told(MERGED, Comparison(expected=1, found=1), {"0": FILES}, end={"logOffset": 0}) == ""


def test_who_knows_where_it_began_can_say_so() -> None:
    said = advise_unknown("readings", "source 0: where it began is not known: sources/0/0")
    assert "holdfast prove MODULE:PIPELINE readings --from earliest" in said
    assert advise_unknown("readings", "it keeps state: an aggregation") == ""
