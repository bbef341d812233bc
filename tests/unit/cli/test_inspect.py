"""`holdfast inspect`, as people and programs call it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_json import InspectJson
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.probe import Found, NotProbed, SourceProbe
from tests.unit.checkpoint.archives import ARCHIVES
from tests.unit.cli.inspecting import Inspect, unpack


def test_the_first_line_of_a_pending_batch_says_so_with_numbers(
    inspect: Inspect, tmp_path: Path
) -> None:
    code, lines = inspect(unpack("4.2-killed-commits", tmp_path))
    assert code == ExitCode.DONE
    assert lines[0] == (
        "Batch 2 is pending: the next start runs it again, same range (files, 1 file)."
    )
    assert lines[1] == (
        "If batch 2 already reached the sink, a sink that does not recognise it holds those "
        "records twice."
    )


def test_the_first_line_of_a_finished_batch_says_where_the_next_begins(
    inspect: Inspect, tmp_path: Path
) -> None:
    _, lines = inspect(unpack("4.2-kafka", tmp_path))
    assert lines[0] == (
        "Batch 6 is committed: the next start continues with batch 7 "
        "(kafka fixtures, 2 partitions, offsets add up to 40), if the query is stateless."
    )


def test_a_refusal_names_the_file_and_sparks_words(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-kafka", tmp_path)
    (checkpoint / "offsets/5").unlink()
    code, lines = inspect(checkpoint)
    assert code == ExitCode.DONE
    assert lines[0].startswith("Spark will refuse to start: offsets/5 is missing")
    assert lines[1] == "Spark's error will contain: batch 5 doesn't exist"
    assert lines[2] == "Code: HF203 previous-offset-entry-missing (docs/reference/refusals.md)."
    _, document = inspect(checkpoint, "--format", "json")
    assert json.loads("\n".join(document))["next_start"]["code"] == "HF203"


def test_a_state_file_that_is_gone_is_the_first_thing_said(
    inspect: Inspect, tmp_path: Path
) -> None:
    checkpoint = unpack("4.2-aggregation", tmp_path)
    for file in (checkpoint / "state/0/1").glob("*6.*"):
        file.unlink()
    _, lines = inspect(checkpoint)
    assert lines[0] == "Batch 6 will fail: state/0/1/6.delta is missing, and batch 6 needs it."
    assert any(line.startswith("  0 ") and line.endswith(" no") for line in lines)
    assert "  missing  state/0/1/6.delta" in lines


def test_a_damaged_state_file_is_found_when_state_is_asked_for(
    inspect: Inspect, tmp_path: Path
) -> None:
    checkpoint = unpack("4.2-killed-commits", tmp_path)
    delta = checkpoint / "state/0/0/1.delta"
    delta.write_bytes(delta.read_bytes()[:40])
    assert inspect(checkpoint)[1][0].startswith("Batch 2 is pending")
    _, lines = inspect(checkpoint, "--state")
    assert lines[0] == "Batch 2 will fail: state/0/0/1.delta is damaged, and batch 2 needs it."


def test_rows_are_counted_when_state_is_asked_for(inspect: Inspect, tmp_path: Path) -> None:
    _, lines = inspect(unpack("4.2-aggregation", tmp_path), "--state", "--format", "json")
    document = json.loads("\n".join(lines))
    assert sum(store["rows"] for store in document["stores"]) == 6


def test_a_location_with_nothing_in_it_is_said_first_and_is_not_fine(
    inspect: Inspect, tmp_path: Path
) -> None:
    code, lines = inspect(tmp_path / "not-there")
    assert code == ExitCode.NOT_JUDGED
    assert lines[0] == f"There is no checkpoint at {tmp_path / 'not-there'}."


def test_a_path_that_is_a_file_is_said_as_spark_says_it(inspect: Inspect, tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    file.write_text("notes")
    code, lines = inspect(file)
    assert code == ExitCode.DONE
    assert lines == [
        "Spark will refuse to start: the checkpoint location is a file, not a directory.",
        "Spark's error will contain: FileAlreadyExistsException",
        "Code: HF105 location-is-a-file (docs/reference/refusals.md).",
        "What to do: Check `checkpointLocation`. If the path is right, move the file aside.",
    ]


def test_one_batch_is_shown_with_its_range_and_settings(inspect: Inspect, tmp_path: Path) -> None:
    _, lines = inspect(unpack("4.2-kafka", tmp_path), "--batch", "3")
    text = "\n".join(lines)
    assert "batch 3" in text
    assert "kafka fixtures: " in text
    assert "spark.sql.shuffle.partitions=" in text


def test_a_version_that_does_something_else_is_named(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-kafka", tmp_path)
    (checkpoint / "metadata").unlink()
    _, lines = inspect(checkpoint)
    assert lines[0].startswith("Spark will refuse to start: the file metadata is missing")
    assert lines[3].startswith("On Spark 3.5, 4.0 or 4.1: Batch 6 is committed")
    _, older = inspect(checkpoint, "--spark", "4.1")
    assert older[0].startswith("Batch 6 is committed")


def test_a_version_that_does_the_same_is_not_named(inspect: Inspect, tmp_path: Path) -> None:
    """3.5 fails with other words, at the same place."""
    checkpoint = unpack("4.2-aggregation", tmp_path)
    for file in (checkpoint / "state/0/1").glob("*6.*"):
        file.unlink()
    assert not any(line.startswith("On Spark") for line in inspect(checkpoint)[1])


@pytest.mark.parametrize("arguments", [["--spark", "2.4"], ["--storage-option", "x"]])
def test_a_wrong_option_is_a_usage_error(
    inspect: Inspect, tmp_path: Path, arguments: list[str]
) -> None:
    assert inspect(tmp_path, *arguments)[0] == ExitCode.USAGE


def test_names_in_a_checkpoint_cannot_steer_the_terminal(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-kafka", tmp_path)
    (checkpoint / "offsets" / "\x1b[2J\nBatch 9 is done").write_bytes(b"")
    _, lines = inspect(checkpoint, "--files")
    assert not any("\x1b" in line for line in lines)
    assert not any(line.startswith("Batch 9") for line in lines)


def test_reading_changes_nothing(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-aggregation-format-2", tmp_path)

    def look() -> dict[Path, tuple[int, int, bytes]]:
        files = [path for path in checkpoint.rglob("*") if path.is_file()]
        return {
            each: (each.stat().st_mtime_ns, each.stat().st_ino, each.read_bytes()) for each in files
        }

    before = look()
    inspect(checkpoint, "--state", "--files", "--batch", "2")
    assert look() == before


def documents(inspect: Inspect, tmp_path: Path, *names: str) -> list[dict[str, Any]]:
    found = []
    for name in names:
        _, lines = inspect(
            unpack(name, tmp_path / name), "--state", "--files", "--batch", "1", "--format", "json"
        )
        found.append(json.loads("\n".join(lines)))
    return found


def test_the_json_is_of_the_committed_form(inspect: Inspect, tmp_path: Path) -> None:
    names = [name for name in ARCHIVES if name.startswith("4.2")]
    for document in documents(inspect, tmp_path, *names):
        assert (document["format"], document["version"]) == ("holdfast.inspect", 2)
        msgspec.convert(document, InspectJson, strict=True)


def test_json_and_text_say_the_same_first(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-killed-commits", tmp_path)
    _, text = inspect(checkpoint)
    _, lines = inspect(checkpoint, "--format", "json")
    document = json.loads("\n".join(lines))
    assert document["summary"] == text[:2]
    assert document["next_start"] == {
        "kind": "runs-again",
        "spark": "4.2",
        "follows_from": ["offsets/2", "commits/1"],
        "batch_id": 2,
    }


def test_a_deleted_state_directory_is_not_shown_as_fine(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-aggregation", tmp_path)
    shutil.rmtree(checkpoint / "state")
    code, lines = inspect(checkpoint)
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].startswith("What the next start does is unknown: offsets/5 has a watermark")
    assert any(line.startswith("  state      no state/ directory") for line in lines)
    assert "  rewind     possible to batches 0 … 5, if the query is stateless" in lines


def test_where_nothing_tells_of_state_the_answer_says_for_whom_it_holds(
    inspect: Inspect, tmp_path: Path
) -> None:
    checkpoint = unpack("4.2-groups-with-state", tmp_path)
    shutil.rmtree(checkpoint / "state")
    _, lines = inspect(checkpoint)
    assert lines[0].endswith(", if the query is stateless.")
    assert lines[1] == (
        "There is no state/ directory: Spark refuses to start a stateful query on this checkpoint."
    )
    assert any(line.startswith("  state      no state/ directory") for line in lines)
    _, shown = inspect(checkpoint, "--format", "json")
    document = json.loads("\n".join(shown))
    assert document["next_start"]["unless"] == "the query is stateful: there is no state/ directory"


def test_sinks_that_commit_entries_name_are_shown(inspect: Inspect, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-named-sink", tmp_path)
    _, lines = inspect(checkpoint)
    provider = "org.apache.spark.sql.execution.datasources.noop.NoopTable$"
    rows = [line.split(maxsplit=3) for line in lines if line.startswith("  sink ")]
    assert rows == [
        ["sink", "first_sink", provider, "used by an earlier run"],
        ["sink", "second_sink", provider, "written by the newest batch"],
    ]
    _, shown = inspect(checkpoint, "--format", "json")
    assert json.loads("\n".join(shown))["sinks"] == [
        {"name": "first_sink", "provider": provider, "is_active": False},
        {"name": "second_sink", "provider": provider, "is_active": True},
    ]


_ASKED = KafkaSource(display_name="kafka sensors")
_NOT_ASKED = NotProbed(why="it does not answer")


@pytest.mark.parametrize(
    ("found", "is_unchecked"),
    [((_ASKED,), False), ((_NOT_ASKED,), True), ((_ASKED, _NOT_ASKED), True), ((), True)],
)
def test_a_source_that_could_not_be_asked_is_not_checked(
    inspect: Inspect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    found: tuple[Found, ...],
    is_unchecked: bool,
) -> None:
    probes = tuple(
        SourceProbe(source=f"{number}", display_name="kafka sensors", found=each)
        for number, each in enumerate(found)
    )
    monkeypatch.setattr("holdfast.judgement.probing.probe_sources", lambda *_: probes)
    code, lines = inspect(unpack("4.2-kafka", tmp_path), "--probe")
    _, _, unchecked = lines[-1].partition("Not checked: ")
    assert ("whether the source still has the data" in unchecked) == is_unchecked
    assert "--probe" not in lines[-1], "it was given"
    assert ("could not be asked" in unchecked) == is_unchecked
    assert code == (ExitCode.NOT_JUDGED if is_unchecked else ExitCode.DONE)


def test_a_broker_that_does_not_answer_is_named_and_nothing_is_judged(
    inspect: Inspect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = NotProbed(why="the broker did not answer (_TIMED_OUT)")
    probes = (SourceProbe(source="0", display_name="kafka fixtures", found=silent),)
    monkeypatch.setattr("holdfast.judgement.probing.probe_sources", lambda *_: probes)
    checkpoint = unpack("4.2-kafka", tmp_path)
    code, lines = inspect(checkpoint, "--source", "127.0.0.1:1")
    assert code == ExitCode.NOT_JUDGED
    assert "(it could not be asked: the broker did not answer (_TIMED_OUT))" in lines[-1]
    code, lines = inspect(checkpoint, "--probe", "--check")
    assert code == ExitCode.NOT_JUDGED
    assert lines[-1] == (
        "Not judged: a source could not be asked: the broker did not answer (_TIMED_OUT)."
    )


@pytest.mark.parametrize("option", [("--probe",), ("--source", "127.0.0.1:1"), ("--state",)])
def test_what_is_for_one_checkpoint_is_refused_for_a_directory(
    inspect: Inspect, tmp_path: Path, option: tuple[str, ...]
) -> None:
    unpack("4.2-kafka", tmp_path)
    code, lines = inspect(tmp_path, *option)
    assert (code, lines) == (ExitCode.USAGE, [])
