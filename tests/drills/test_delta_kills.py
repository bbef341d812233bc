"""A guarded stream into Delta killed between its steps: nothing lost or doubled, nothing torn.

The chains whole are `python -m benchmarks.delta_kills`; here a sample of some of them runs.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.delta_kills import CHAINS, run
from benchmarks.delta_reader import DeltaReader
from benchmarks.delta_workload import Workload, make_workload
from holdfast.drills.known.workload import ROWS_PER_FILE
from lab import S3

SAMPLES = {"appended-on-s3": 2, "merged-on-s3": 2}
"""On disk the known drills run."""


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_exact_under_a_sample_of_kills(
    s3: S3, name: str, *, tmp_path: Path, seed: int
) -> None:
    whole = CHAINS[name]
    places = sorted(random.Random(seed).sample(range(len(whole.points)), SAMPLES[name]))
    chain = replace(whole, points=[whole.points[place] for place in places])
    ran = run(chain, tmp_path / "stream", s3=s3)
    assert [link.ended.fired for link in ran.links] == [*map(str, chain.points), None]
    assert ran.reader.polls


def test_the_reader_sees_a_commit_with_half_of_a_batch(tmp_path: Path) -> None:
    work = make_workload(tmp_path / "stream", "appended")
    with DeltaReader(work) as reader:
        _plant(work, version=0, rows=range(ROWS_PER_FILE))
        reader.wait_for_polls(2)
        assert not reader.torn
        assert reader.seen >= {1}
        half = ROWS_PER_FILE // 2
        _plant(work, version=1, rows=range(ROWS_PER_FILE, ROWS_PER_FILE + half))
        reader.wait_for_polls(2)
    assert reader.torn
    assert all("after 2 files" in seen for seen in reader.torn)
    assert all(f"missing={half}, doubled=0, foreign=0" in seen for seen in reader.torn)


def _plant(work: Workload, *, version: int, rows: range) -> None:
    """Commit rows by hand, with a ledger that tells of one more file."""
    log = Path(work.lake, "table", "_delta_log")
    log.mkdir(parents=True, exist_ok=True)
    name = f"part-{version}.parquet"
    pq.write_table(pa.table({"id": list(rows)}), log.parent / name)
    row = {"holdfast": "row", "end_offsets": json.dumps({"0": {"logOffset": version}})}
    actions = [{"commitInfo": {"userMetadata": json.dumps(row)}}, {"add": {"path": name}}]
    half_made = log / "half-made"
    half_made.write_text("\n".join(map(json.dumps, actions)))
    half_made.rename(log / f"{version:020}.json")
