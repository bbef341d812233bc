"""Whether the source of a plain stream still has what comes next, where its checkpoint is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.plan.plan_file import Plan
from tests.unit.plan.plain_on_disk import PlainStream, offsets_in, reason

pytestmark = pytest.mark.unit


def _version(number: int) -> dict[str, object]:
    return {
        "sourceVersion": 1,
        "reservoirId": "t",
        "reservoirVersion": number,
        "index": -1,
        "isStartingVersion": False,
    }


@pytest.fixture
def stream(tmp_path: Path) -> PlainStream:
    """From a Delta table into another, whose last batch is not in the event log."""
    found = PlainStream(home=tmp_path)
    source = PlainStream(home=tmp_path / "source")
    found.started()
    for batch in range(4):
        source.commit(None, operation="WRITE", files=[])
        if batch < 3:
            began = _version(batch) if batch else None
            described = f"DeltaSource[file:{source.table}]"
            found.ran(batch, _version(batch + 1), start=began, source=described)
        found.commit(batch, files=found.without_columns(batch))
    found.write_log()
    return found


def test_a_delta_table_that_has_everything_is_read_again(stream: PlainStream) -> None:
    plan = stream.plan()
    assert offsets_in(plan) == {"offsets/2": _version(3), "offsets/3": _version(3)}
    assert isinstance(plan, Plan)
    assert "destructive:orders" in plan.words
    assert not any(each.name == "not looked at" for each in plan.impact[0].facts)


def test_rows_that_the_source_lost_are_not_taken_out_of_the_sink(stream: PlainStream) -> None:
    log = stream.home / "source/orders/_delta_log"
    for number in range(4):
        (log / f"{number:020d}.json").unlink()
    assert "would not come back" in reason(stream.plan())


def test_a_source_whose_address_is_not_known_is_said(stream: PlainStream) -> None:
    other = PlainStream(home=stream.home / "kafka")
    other.runs(2)
    plan = other.plan()
    assert isinstance(plan, Plan)
    (said,) = (each.what for each in plan.impact[0].facts if each.name == "not looked at")
    assert "--source 0=" in said
