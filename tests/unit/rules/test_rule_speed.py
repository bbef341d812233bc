"""Rules alone are fast: a hundred batches of a thousand Kafka partitions in 50 ms of CPU."""

from __future__ import annotations

import json
import time

from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.evidence.times import collect_times
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in

BATCHES, PARTITIONS = 100, 1_000
MOST_SECONDS = 0.050
BEGAN_MS = 1_763_186_400_000


def kafka_checkpoint() -> MemoryStorage:
    files = {"metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}'}
    for batch in range(BATCHES):
        settings = {
            "batchWatermarkMs": 0,
            "batchTimestampMs": BEGAN_MS + batch * 60_000,
            "conf": {},
        }
        ends = {"readings": {str(number): batch * 10 for number in range(PARTITIONS)}}
        lines = "v1", json.dumps(settings), json.dumps(ends)
        files[f"offsets/{batch}"] = "\n".join(lines).encode()
        files[f"commits/{batch}"] = b'v1\n{"nextBatchWatermarkMs":0}'
    del files[f"commits/{BATCHES - 1}"]  # the rules about a pending batch look at most
    return MemoryStorage(files)


def test_a_hundred_batches_of_a_thousand_partitions() -> None:
    storage = kafka_checkpoint()
    overview = overview_of(collect(storage))
    case = Case(checkpoint=overview.checkpoint, overview=overview, times=collect_times(storage))
    took = []
    for _ in range(5):
        began = time.process_time()
        assert "pending-batch" in [each.name for each in findings_in(case)]
        took.append(time.process_time() - began)
    assert min(took) < MOST_SECONDS
