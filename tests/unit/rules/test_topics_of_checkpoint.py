"""HF402 without a last run: the topics of the checkpoint are compared."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.stream import StreamEvidence
from holdfast.ids import BatchId
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.rules.query.sources import source_changed
from holdfast.sources.kafka.kind import parse_kafka_offset
from tests.unit.cli.inspecting import unpack


@pytest.mark.parametrize("is_same", [True, False])
def test_a_migrated_checkpoint_is_not_started_with_the_old_topics(
    tmp_path: Path, *, is_same: bool
) -> None:
    """With failOnDataLoss=false, Spark would read all of the old topic again."""
    case = collect_case(DiagnoseRequest(location=str(unpack("4.2-kafka", tmp_path))))
    entry = case.checkpoint.offsets[BatchId(case.newest_planned)]
    assert isinstance(entry, OffsetEntry)
    offset = parse_kafka_offset(entry.offsets[0].text or "")
    assert offset is not None
    named = f"kafka {','.join(offset.partitions)}"
    stream = SimpleNamespace(
        stream="readings",
        sources_before=None,
        sources=(named if is_same else "kafka another",),
        newest_planned=case.newest_planned,
    )
    found = list(source_changed.judge(replace(case, stream=cast("StreamEvidence", stream))))
    assert len(found) == (0 if is_same else 1)
    if not is_same:
        assert f"Source 0 was {named} in the checkpoint and is kafka another now" in found[0].what
