"""Rules cost what reading costs: about 30 ms for a hundred batches of a thousand Kafka partitions.

Compared with reading the same checkpoint in the same run: how fast a machine is changes both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.evidence.times import collect_times
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in

BATCHES, PARTITIONS = 100, 1_000
MOST_TIMES_READING = 3
"""0.7 alone, 1.4 while coverage is measured."""
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


def least_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of the fastest of five."""
    took = []
    for _ in range(5):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def test_a_hundred_batches_of_a_thousand_partitions() -> None:
    storage = kafka_checkpoint()
    overview = overview_of(collect(storage))
    case = Case(checkpoint=overview.checkpoint, overview=overview, times=collect_times(storage))
    assert "pending-batch" in [each.name for each in findings_in(case)]
    reading = least_seconds(lambda: overview_of(collect(storage)))
    assert least_seconds(lambda: findings_in(case)) < MOST_TIMES_READING * reading
