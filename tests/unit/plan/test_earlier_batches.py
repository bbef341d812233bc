"""A goal that names an earlier batch knows every batch of a checkpoint in a bucket."""

from __future__ import annotations

import pytest

from holdfast.errors import ConfigError
from holdfast.judgement.case import DiagnoseRequest, _collect
from holdfast.judgement.place import CheckpointPlace
from holdfast.plan import make
from holdfast.plan.requests import Request
from holdfast.plan.world import StreamNow
from holdfast.storage.memory import MemoryStorage
from tests.unit.plan.streams_on_disk import ID, LINE, end

BATCHES = range(30)


@pytest.fixture
def bucket() -> CheckpointPlace:
    files = {"metadata": f'{{"id":"{ID}"}}'}
    files |= {f"offsets/{batch}": f"v1\n{LINE}\n{end(batch)}" for batch in BATCHES}
    files |= {f"commits/{batch}": 'v1\n{"nextBatchWatermarkMs":0}' for batch in BATCHES}
    storage = MemoryStorage({path: text.encode() for path, text in files.items()})
    return CheckpointPlace(checkpoint=storage, record=None, root=None)


def test_every_entry_of_a_bucket_is_read_when_it_is_asked_for(bucket: CheckpointPlace) -> None:
    near = _collect(bucket, DiagnoseRequest(location="")).checkpoint
    assert len(near.commits) < len(BATCHES)
    found = _collect(bucket, DiagnoseRequest(location="", every_entry=True)).checkpoint
    assert (list(found.offsets), list(found.commits)) == ([*BATCHES], [*BATCHES])


@pytest.mark.parametrize(
    ("goal", "needs_all"), [("rewind", True), ("replay", True), ("resume", False), ("reset", False)]
)
def test_a_goal_asks_for_what_it_names(
    goal: str, *, needs_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[DiagnoseRequest] = []

    def look(looks: DiagnoseRequest) -> StreamNow:
        asked.append(looks)
        raise ConfigError("enough")

    monkeypatch.setattr(make, "look_at_stream", look)
    with pytest.raises(ConfigError):
        make.plan_steps(Request(goal=goal), DiagnoseRequest(location="s3://lake/readings"))
    assert [each.every_entry for each in asked] == [needs_all]
