"""`holdfast inspect --cost`, as people and programs call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_json import InspectJson
from tests.unit.checkpoint.archives import ARCHIVES
from tests.unit.cli.inspecting import Inspect, unpack


def section(lines: list[str]) -> list[str]:
    begin = next(number for number, line in enumerate(lines) if line.startswith("Cost"))
    return lines[begin:]


def document(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("\n".join(lines))["cost"]
    return found


def progress(checkpoint: Path) -> str:
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    took = {"addBatch": 600, "walCommit": 150, "commitOffsets": 50, "triggerExecution": 1000}
    return json.dumps([{"id": query, "batchId": batch, "durationMs": took} for batch in range(5)])


def test_the_parts_of_a_batch_are_shown_with_what_is_kept(inspect: Inspect, tmp_path: Path) -> None:
    code, lines = inspect(unpack("4.2-aggregation", tmp_path), "--cost")
    found = section(lines)
    assert code == ExitCode.DONE
    assert found[0] == "Cost of 6 batches (0 … 5); Spark writes a checkpoint in every batch:"
    assert " ".join(found[1].split()) == "part files a batch bytes a batch files kept kept"
    assert [line.split()[0] for line in found[2:8]] == [
        *("offsets", "commits", "sources/0", "state/0", "other", "total"),
    ]
    assert found[2].split()[:2] == ["offsets", "2.0"]
    text = "\n".join(found)
    assert "the trigger decides" in text
    assert "HDFS-backed, state format 1; " in text
    assert "docs/explanation/checkpoint-cost.md" in text


def test_what_is_not_known_names_what_would_tell(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-aggregation", tmp_path)
    text = "\n".join(section(inspect(checkpoint, "--cost")[1]))
    assert "logs' share  not known: Pass the driver's log or query.recentProgress" in text
    assert 'spark.conf.get("spark.sql.streaming.minBatchesToRetain")' in text
    found = document(inspect(checkpoint, "--cost", "--format", "json")[1])
    assert found["times"] is None
    assert set(found["not_known"]) >= {"times", "minBatchesToRetain"}


def test_sparks_own_progress_tells_the_share(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-aggregation", tmp_path)
    file = tmp_path / "driver.log"
    file.write_text(progress(checkpoint))
    _, lines = inspect(checkpoint, "--cost", "--progress", str(file))
    said = "20 % of a batch (20 to 20): 200 of 1,000 ms, by Spark's progress of 5 batches"
    assert any(line.endswith(said) for line in lines)
    found = document(inspect(checkpoint, "--cost", "--progress", str(file), "--format", "json")[1])
    assert found["times"] == {
        "batches": 5,
        "batch_ms": 1000,
        "logs_ms": 200,
        "share": 0.2,
        "lowest": 0.2,
        "highest": 0.2,
    }
    assert "times" not in found["not_known"]


def test_progress_of_another_query_is_said(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint, other = unpack("4.2-aggregation", tmp_path), unpack("4.2-kafka", tmp_path / "b")
    file = tmp_path / "driver.log"
    file.write_text(progress(other))
    text = "\n".join(inspect(checkpoint, "--cost", "--progress", str(file))[1])
    assert "not known: it has progress of other queries only" in text


def test_progress_without_cost_is_a_usage_error(inspect: Inspect, tmp_path: Path) -> None:
    file = tmp_path / "driver.log"
    file.write_text("")
    checkpoint = unpack("4.2-aggregation", tmp_path)
    assert inspect(checkpoint, "--progress", str(file))[0] == ExitCode.USAGE


def test_a_purged_log_tells_how_many_are_kept(inspect: Inspect, tmp_path: Path) -> None:
    text = "\n".join(inspect(unpack("4.2-aggregation-purged", tmp_path), "--cost")[1])
    assert "older ones were purged: minBatchesToRetain is about 2" in text


def test_asynchronous_progress_does_not_persist_every_batch(
    inspect: Inspect, tmp_path: Path
) -> None:
    found = section(inspect(unpack("4.2-kafka-async", tmp_path), "--cost")[1])
    assert found[0].endswith("with asynchronous progress, Spark does not persist every batch:")


def test_a_directory_of_checkpoints_has_no_cost(inspect: Inspect, tmp_path: Path) -> None:
    unpack("4.2-aggregation", tmp_path / "a")
    unpack("4.2-kafka", tmp_path / "b")
    assert inspect(tmp_path, "--cost")[0] == ExitCode.USAGE


def test_a_location_with_nothing_in_it_has_no_cost(inspect: Inspect, tmp_path: Path) -> None:
    code, lines = inspect(tmp_path / "not-there", "--cost")
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].startswith("There is no checkpoint")


@pytest.mark.parametrize("name", ARCHIVES)
def test_every_checkpoint_has_a_cost_in_the_form(
    inspect: Inspect, tmp_path: Path, name: str
) -> None:
    checkpoint = unpack(name, tmp_path)
    _, lines = inspect(checkpoint, "--cost", "--format", "json")
    found = msgspec.json.decode("\n".join(lines), type=InspectJson).cost
    assert found is not None
    assert found.kept_files == sum(path.is_file() for path in checkpoint.rglob("*"))
