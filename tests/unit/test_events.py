"""Events: one place to emit, the log and drills as listeners, nothing that harms a stream."""

from __future__ import annotations

import dataclasses
import logging
import pickle
from collections.abc import Iterator
from string import Formatter
from typing import get_type_hints

import pytest

from docsite.events import SUBJECTS, events_of
from holdfast import points
from holdfast.events import Event, emit, event, listen
from holdfast.events.batches import BatchPlanned, BatchSkipped, Decided, fields_of
from holdfast.events.event import PointReached, Warned
from holdfast.events.starts import LeaseLost, LeaseTaken, RunEnded
from tests.ledger_rows import attempt

EVENTS = [each for subject in SUBJECTS for each in events_of(subject)]
VALUES = {str: "{x}", int: 7, float: 1.5, int | None: None}
ATTEMPT = attempt(4)
TAKEN = LeaseTaken(stream="readings", epoch=8, owner="etl-7/4411")


@pytest.fixture(autouse=True)
def nobody_listens_afterwards() -> Iterator[None]:
    before = event._listeners
    yield
    event._listeners = before
    points.listen(None)


def example(kind: type[Event]) -> Event:
    kinds = get_type_hints(kind)
    return kind(**{field.name: VALUES[kinds[field.name]] for field in dataclasses.fields(kind)})


def test_listeners_hear_the_same_values_in_order_until_they_end() -> None:
    one: list[Event] = []
    other: list[Event] = []
    end = listen(one.append)
    listen(other.append)
    emit(TAKEN)
    end()
    emit(PointReached("S1"))
    assert (one, other) == ([TAKEN], [TAKEN, PointReached("S1")])


def test_a_listener_that_raises_harms_nobody_and_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: Event) -> None:
        raise RuntimeError("s3cr3t")

    heard: list[Event] = []
    listen(broken)
    listen(heard.append)
    emit(TAKEN)
    emit(TAKEN)
    assert heard == [TAKEN, TAKEN]
    (said,) = caplog.messages
    assert said.endswith("broken, a listener of events, raised RuntimeError")


def test_a_log_handler_that_raises_harms_nobody() -> None:
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise OSError(record.getMessage())

    handler = Broken()
    event.LOG.addHandler(handler)
    try:
        emit(Warned("the disk of the log is full"))
    finally:
        event.LOG.removeHandler(handler)


def test_what_a_drill_raises_comes_out_of_the_step() -> None:
    def kill(point: str) -> None:
        raise RuntimeError(point)

    points.listen(kill)
    with pytest.raises(RuntimeError, match="epoch=8"):
        emit(TAKEN)


def test_a_drill_hears_facts_and_numbers_as_it_always_did() -> None:
    heard: list[str] = []
    points.listen(heard.append)
    emit(TAKEN)
    emit(BatchPlanned(**fields_of(ATTEMPT)))
    emit(Decided(**fields_of(ATTEMPT), decision="apply"))
    emit(BatchSkipped(stream="readings", batch=3, sinks="a table", drained=""))
    emit(Warned("no point of a drill"))
    assert heard == ["epoch=8", "G2", "batch=4", "S1", "S3", "skipped=3"]


def test_an_event_is_a_record_of_the_log_with_its_level_and_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "holdfast")
    emit(TAKEN)
    emit(LeaseLost(stream="readings", epoch=8))
    first, second = caplog.records
    assert first.getMessage() == "holdfast: readings G2: epoch 8 is leased to etl-7/4411"
    assert (first.levelname, first.filename) == ("DEBUG", "test_events.py")
    assert first.holdfast is TAKEN  # type: ignore[attr-defined]
    assert second.levelname == "ERROR"


def test_without_any_logging_a_program_sees_what_is_always_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event.LOG, "propagate", False)
    emit(BatchSkipped(stream="readings", batch=3, sinks="the table", drained=""))
    emit(TAKEN)
    shown = capsys.readouterr().err
    assert shown == "holdfast: readings batch 3 is in the table already: skipped\n"
    event.LOG.setLevel(logging.ERROR)
    emit(BatchSkipped(stream="readings", batch=3, sinks="the table", drained=""))
    event.LOG.setLevel(logging.NOTSET)
    assert capsys.readouterr().err == ""


def test_a_run_that_ended_without_an_error_says_no_error() -> None:
    ended = RunEnded(stream="readings", epoch=8, ended="finished", batch=3, error="")
    assert str(ended) == "readings: the run of epoch 8 is finished, last batch 3."


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_a_frozen_value_of_plain_fields_that_its_line_names(
    kind: type[Event],
) -> None:
    made = example(kind)
    names = {field.name for field in dataclasses.fields(kind)}
    assert {name for _, name, _, _ in Formatter().parse(kind.text) if name} <= names
    assert str(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert kind.__doc__
    with pytest.raises(AttributeError):
        made.stream = "another"  # type: ignore[attr-defined]


def test_the_points_of_drills_are_what_they_were() -> None:
    found = [each.point for each in EVENTS if each.point]
    assert sorted(found) == sorted(set(found))
    assert set(found) == {
        *(f"G{number}" for number in (1, 2, 3, 4, 5, 6, 8)),
        *(f"S{number}" for number in range(1, 8)),
        *(f"A{number}" for number in range(2, 9)),
        *("A4-fenced", "A4-marked", "A5-before", "A8-marked"),
        *(f"B{number}" for number in range(1, 5)),
        *("asked", "compared", "copying", "fenced", "generation-opened", "journalled", "kept"),
        *("orphan-copied", "run-ended", "settled", "sink-written"),
    }
