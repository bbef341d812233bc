"""What the campaigns read from Delta tables, with faults that are planted by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.judging import OF_ROWS, judge
from campaigns.streams.delta_workload import UNLIKE, Workload, make_workload
from holdfast.drills.builtin.workload import ROWS_PER_FILE
from holdfast.drills.drill import Recording
from holdfast.drills.verdict import DrillVerdict


def plant(work: Workload, *, version: int, rows: Sequence[int], table: str = "table") -> None:
    """Commit rows by hand, with a ledger that tells of one more file."""
    log = Path(work.lake, table, "_delta_log")
    log.mkdir(parents=True, exist_ok=True)
    name = f"part-{version}.parquet"
    columns = {"id": list(rows)}
    if work.shape == "fan_out":
        columns["name"] = [row if table == "table" else row + version for row in rows]
    pq.write_table(pa.table(columns), log.parent / name)
    row = {"holdfast": "row", "end_offsets": json.dumps({"0": {"logOffset": version}})}
    actions = [{"commitInfo": {"userMetadata": json.dumps(row)}}, {"add": {"path": name}}]
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


def test_a_reader_sees_a_commit_with_half_of_a_batch(tmp_path: Path) -> None:
    work = make_workload(tmp_path / "stream", "appended")
    recording, look = Recording(work, tmp_path / "history"), work.reader()
    half = ROWS_PER_FILE // 2
    plant(work, version=0, rows=range(ROWS_PER_FILE))
    recording.write(look())
    plant(work, version=1, rows=range(ROWS_PER_FILE, ROWS_PER_FILE + half))
    recording.write(look())
    told = {each.check: each for each in recording.check()}["complete-batches"]
    assert told.verdict == DrillVerdict.FAIL
    assert f"{ROWS_PER_FILE + half} rows in table, not those of 2 parts" in told.told


def test_two_tables_share_what_chance_gave_to_a_batch(tmp_path: Path) -> None:
    work = make_workload(tmp_path / "stream", "fan_out")
    for table in work.tables:
        plant(work, version=0, rows=range(ROWS_PER_FILE), table=table)
    judge(work, checks=OF_ROWS)
    plant(work, version=1, rows=range(ROWS_PER_FILE, 2 * ROWS_PER_FILE))
    judge(work, checks=OF_ROWS)  # one table is ahead: there is nothing to compare yet
    plant(work, version=1, rows=range(ROWS_PER_FILE, 2 * ROWS_PER_FILE), table="copy")
    with pytest.raises(
        AssertionError, match=f"nothing-unexpected: {2 * ROWS_PER_FILE}.* in {UNLIKE}"
    ):
        judge(work, checks=OF_ROWS)
