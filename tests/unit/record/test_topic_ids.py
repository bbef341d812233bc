"""Topic ids in the runs: of the newest run that has any, within one generation."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.record.documents import RecordError, encode
from holdfast.record.runs import Run, bounded_topic_ids, first_run, last_topic_ids, write_run
from holdfast.storage.memory import MemoryStorage

RUN = Run(
    epoch=7,
    run_id="6f0c0000-0000-4000-8000-000000000000",
    generation=2,
    contract="0" * 16,
    spark="4.2.0",
    started_at="2026-11-15T06:00:00+00:00",
    first_batch=3,
)
IDS = {"0": {"sensors": "AAAAAAAAAAEAAAAAAAAAAg"}}


def runs(*found: Run) -> MemoryStorage:
    record = MemoryStorage()
    for each in found:
        write_run(record, each)
    return record


def run(epoch: int, **more: object) -> Run:
    return msgspec.structs.replace(RUN, epoch=epoch, **more)


def test_those_of_the_newest_run_that_has_any() -> None:
    older = {"0": {"sensors": "b"}}
    record = runs(run(5, topic_ids=older), run(6, topic_ids=IDS), run(7), run(9, topic_ids=older))
    assert last_topic_ids(record, before=9, generation=2) == IDS
    assert last_topic_ids(record, before=6, generation=2) == older
    assert last_topic_ids(record, before=5, generation=2) == {}
    assert last_topic_ids(MemoryStorage(), before=5, generation=2) == {}


def test_another_generation_has_topics_of_its_own() -> None:
    record = runs(run(5, generation=1, topic_ids=IDS), run(6))
    assert last_topic_ids(record, before=9, generation=2) == {}


def test_so_many_runs_without_ids_are_read() -> None:
    silent = [run(epoch) for epoch in range(2, 12)]
    assert last_topic_ids(runs(run(1, topic_ids=IDS), *silent), before=99, generation=2) == {}
    assert last_topic_ids(runs(run(1, topic_ids=IDS), *silent[1:]), before=99, generation=2) == IDS


def test_a_run_of_an_older_holdfast_has_none() -> None:
    fields = msgspec.json.decode(encode(RUN))
    del fields["topic_ids"]
    record = MemoryStorage({RUN.path: msgspec.json.encode(fields)})
    assert last_topic_ids(record, before=9, generation=2) == {}


@pytest.mark.parametrize(
    "forged",
    [
        {"0": {"a b": "x"}},
        {"0": {"sensors": "\x1b[2J"}},
        {"0": {"sensors": "x" * 37}},
        {"0\n": {"sensors": "x"}},
        {"0": "sensors"},
        {str(number): {} for number in range(4)},
        {"0": {f"t{number}": "x" for number in range(1_001)}},
    ],
)
def test_a_forged_run_is_refused(forged: object) -> None:
    fields = msgspec.json.decode(encode(RUN))
    record = MemoryStorage({RUN.path: msgspec.json.encode({**fields, "topic_ids": forged})})
    with pytest.raises(RecordError):
        last_topic_ids(record, before=9, generation=2)


def test_the_most_that_is_kept_can_be_read_again() -> None:
    topics = {f"{number:06}{'t' * 243}": "x" * 36 for number in range(2_000)}
    most = bounded_topic_ids({str(number): topics for number in range(5)})
    assert [len(each) for each in most.values()] == [1_000] * 3
    record = runs(run(7, topic_ids=most))
    assert last_topic_ids(record, before=9, generation=2) == most


def test_the_first_run_of_a_generation() -> None:
    record = runs(run(5, generation=1), run(7), run(6), run(9, generation=3))
    found = {number: first_run(record, generation=number) for number in range(1, 5)}
    assert {number: each and each.epoch for number, each in found.items()} == {
        1: 5,
        2: 6,
        3: 9,
        4: None,
    }
