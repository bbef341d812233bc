"""`holdfast inspect` of a directory: one table with a verdict for every checkpoint below it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_directory import DirectoryInspection, inspect_directory
from holdfast.cli.inspect_directory_json import DirectoryJson
from holdfast.cli.inspect_json import AnyInspectJson
from holdfast.cli.inspection import inspect_checkpoint
from holdfast.errors import ReadError
from holdfast.evidence import checkpoints_below
from holdfast.record.generations import Generation, open_generation
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader
from holdfast.storage.read import Listing, Reader
from holdfast.storage.write import open_writer
from tests.fuzz.hostile.cases import CASES as HOSTILE
from tests.unit.checkpoint.archives import ARCHIVES
from tests.unit.cli.inspecting import Inspect
from tests.unit.evidence.damaged import Damage, damaged, every, remove

CLEAN, KAFKA = "4.2-aggregation", "4.2-kafka"


def stored(checkpoints: dict[str, tuple[str, Damage]], **more: bytes) -> MemoryStorage:
    """Return a store with a checkpoint at each path."""
    return MemoryStorage(
        {
            f"{path}/{name}": raw
            for path, (archive, damage) in checkpoints.items()
            for name, raw in damaged(archive, damage).files.items()
        }
        | more
    )


def write_to(directory: Path, storage: MemoryStorage) -> Path:
    for path, raw in storage.files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    return directory


MIXED = stored(
    {
        "raw": (CLEAN, every()),
        "orders/eu": (KAFKA, remove("offsets/5")),
        "orders/us": (KAFKA, remove("commits/6")),
    }
)


def look(reader: Reader) -> DirectoryInspection:
    return inspect_directory(reader)


def test_the_totals_come_first_and_what_needs_attention_next(
    inspect: Inspect, tmp_path: Path
) -> None:
    code, lines = inspect(write_to(tmp_path, MIXED))
    assert code == ExitCode.DONE
    assert lines[0] == "3 checkpoints: 1 resumes, 1 repeats data, 1 will not start."
    assert lines[2].split()[:3] == ["checkpoint", "next", "start"]
    assert [line.split()[0] for line in lines[3:6]] == ["orders/eu", "orders/us", "raw"]
    assert "will not start (HF203): offsets/5 is missing" in lines[3]
    assert "repeats batch 6 (4 records), if stateless" in lines[4]
    assert lines[4].endswith("kafka fixtures")
    assert "continues with batch 6" in lines[5]
    assert f"For details: holdfast inspect {tmp_path}/orders/eu" in lines


def test_an_action_is_named_for_each_that_needs_one(inspect: Inspect, tmp_path: Path) -> None:
    _, lines = inspect(write_to(tmp_path, MIXED))
    start = lines.index("What to do:")
    assert lines[start + 1].startswith("  orders/eu: will not start (HF203)")
    assert lines[start + 2].startswith("    Run `holdfast plan resume ")
    assert lines[start + 2].endswith(
        "it writes the missing entry again. Do not delete the newest one."
    )
    assert lines[start + 3].startswith("  orders/us: repeats batch 6")
    assert not any("raw:" in line for line in lines)


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        (["raw"], ExitCode.DONE),
        (["raw", "orders/us"], ExitCode.FOUND),
        (["raw", "orders/eu"], ExitCode.FOUND),
    ],
)
def test_check_lets_a_directory_pass_only_if_every_start_is_safe(
    inspect: Inspect, tmp_path: Path, *, paths: list[str], code: ExitCode
) -> None:
    kept = tuple(f"{path}/" for path in paths)
    chosen = {path: raw for path, raw in MIXED.files.items() if path.startswith(kept)}
    found, lines = inspect(write_to(tmp_path, MemoryStorage(chosen)), "--check")
    assert found == code
    failed = f"Check failed: 1 of {len(paths)} checkpoints cannot pass."
    assert lines[-1] == ("Check passed." if code is ExitCode.DONE else failed)


def test_the_json_is_of_the_committed_form(inspect: Inspect, tmp_path: Path) -> None:
    code, lines = inspect(write_to(tmp_path, MIXED), "--format", "json", "--check")
    assert code == ExitCode.FOUND
    document = json.loads("\n".join(lines))
    assert document["format"] == "holdfast.inspect-directory"
    parsed = msgspec.convert(document, AnyInspectJson, strict=True)
    assert isinstance(parsed, DirectoryJson)
    assert parsed.totals == {"will-not-start": 1, "repeats-data": 1, "safe": 1}
    first = parsed.checkpoints[0]
    assert (first.path, first.verdict, first.passes_check) == ("orders/eu", "will-not-start", False)
    assert first.location == f"{tmp_path}/orders/eu"
    assert first.next_start is not None
    assert first.next_start.code == "HF203"
    assert first.last_batch == 6


def test_nothing_inside_a_checkpoint_is_searched() -> None:
    """The state of one checkpoint can have millions of objects."""
    storage = stored({"raw": (CLEAN, every())})
    storage.files["raw/state/0/nested/offsets/0"] = b""
    storage.files["raw/deeper/offsets/0"] = b""
    found = look(storage)
    assert [row.path for row in found.rows] == ["raw"]
    assert found.directories == 1


def test_what_cannot_be_read_is_a_row_and_is_not_fine() -> None:
    class Closed(MemoryStorage):
        def list(self, directory: str = "") -> Listing:
            if directory == "secret":
                raise ReadError(directory, why="The store answered: 403.", how="")
            return super().list(directory)

    found = look(Closed({**MIXED.files, "secret/x": b""}))
    assert found.rows[0].path == "secret"
    assert found.rows[0].unread == "The store answered: 403."
    assert not found.passes


def test_a_directory_that_may_not_be_listed_is_said_in_the_table(
    inspect: Inspect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_to(tmp_path, MIXED)
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def refuse(path: object) -> object:
        if str(path).endswith("/closed"):
            raise PermissionError(13, "Permission denied")
        return scan(str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    code, lines = inspect(tmp_path)
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].endswith("1 will not start, 1 could not be read.")
    assert lines[3].startswith(" closed ")
    assert "  closed: The system answered: Permission denied." in lines
    assert "    Run as an account that may read it." in lines


def generation(number: int, place: str) -> Generation:
    return Generation(
        number=number,
        checkpoint=place,
        query_id="2a0f408e-7cfd-4eb0-985b-db97f8978831",
        first_batch=0,
        why="opened",
        opened_at="2026-11-16T10:00:00+00:00",
    )


def test_a_replaced_generation_is_named_and_not_counted(inspect: Inspect, tmp_path: Path) -> None:
    kept = {"raw": (KAFKA, remove("offsets/5")), "raw.g2": (CLEAN, every())}
    write_to(tmp_path, stored(kept))
    record = open_writer(str(tmp_path / "_holdfast/raw"))
    for number, name in ((1, "raw"), (2, "raw.g2")):
        assert open_generation(record, generation(number, str(tmp_path / name)))
    code, lines = inspect(tmp_path, "--check")
    assert code == ExitCode.DONE
    assert lines[0] == (
        "1 checkpoint: 1 resumes. 1 more belongs to an earlier generation and is not started again."
    )
    assert lines[4].split(maxsplit=1) == ["raw", "not started again: replaced by generation 2"]


def test_names_like_generations_mean_nothing_without_a_record() -> None:
    found = look(stored({"raw": (CLEAN, every()), "raw.g2": (CLEAN, every())}))
    assert [(row.path, row.replaced_by) for row in found.rows] == [("raw", None), ("raw.g2", None)]


def test_holdfasts_own_files_and_the_data_of_tables_are_not_searched() -> None:
    storage = stored({"table/_checkpoints/raw": (CLEAN, every())})
    storage.files |= {
        "_holdfast/raw/batches/offsets/0": b"",
        "table/_delta_log/0.json": b"",
        "table/day=1/offsets/0": b"",
    }
    assert [row.path for row in look(storage).rows] == ["table/_checkpoints/raw"]


def test_a_search_that_would_not_end_says_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints_below, "MOST_DIRECTORIES", 2)
    found = look(MIXED)
    assert found.rows[0].unread == "The search ended after 2 directories."
    assert not found.passes


@pytest.mark.parametrize(
    "left", ["metadata", "offsets", "commits", "state", "sources"], ids=lambda name: f"only-{name}"
)
def test_what_is_left_of_a_checkpoint_is_found(left: str) -> None:
    files = damaged(CLEAN).files
    kept = {path: raw for path, raw in files.items() if path.split("/")[0] == left}
    storage = MemoryStorage({f"streams/raw/{path}": raw for path, raw in kept.items()})
    assert [row.path for row in look(storage).rows] == ["streams/raw"]


def test_directories_called_state_and_sources_are_searched() -> None:
    found = look(stored({"state/raw": (CLEAN, every()), "sources/eu": (KAFKA, every())}))
    assert sorted(row.path for row in found.rows) == ["sources/eu", "state/raw"]


def test_options_for_one_checkpoint_are_refused_for_a_directory(
    inspect: Inspect, tmp_path: Path
) -> None:
    write_to(tmp_path, MIXED)
    for option in (["--state"], ["--files"], ["--batch", "1"]):
        assert inspect(tmp_path, *option)[0] == ExitCode.USAGE


def test_state_of_many_partitions_is_listed_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.checkpoint.state.bounded.MOST_STORES", 1)
    (row,) = look(stored({"raw": (CLEAN, every())})).rows
    assert row.summary is not None
    assert row.summary.verdict == "safe"
    monkeypatch.setattr("holdfast.evidence.collect.MOST_STATE_FILES", 5)
    (row,) = look(stored({"raw": (CLEAN, every())})).rows
    assert row.summary is not None
    assert row.summary.said == (
        "unknown: state/ was not checked, and batch 6 needs it: it has more than 5 files"
    )
    assert row.summary.what_to_do.startswith("Run `holdfast inspect` on this checkpoint alone")


def test_each_checkpoint_gets_the_verdict_that_it_gets_alone(tmp_path: Path) -> None:
    names = [name for name in ARCHIVES if name.startswith(("3.5", "4.2"))]
    write_to(tmp_path, stored({name: (name, every()) for name in names}))
    found = look(open_reader(str(tmp_path)))
    alone = {
        name: inspect_checkpoint(open_reader(str(tmp_path / name))).judgement.verdict
        for name in names
    }
    assert {row.path: row.summary.verdict for row in found.rows if row.summary} == alone


def test_progress_is_counted() -> None:
    told: list[int] = []
    inspect_directory(MIXED, tell=told.append)
    assert told == [1, 2, 3]


def test_hostile_checkpoints_are_rows_beside_the_others(inspect: Inspect, tmp_path: Path) -> None:
    """What one checkpoint holds neither ends the search nor changes another's verdict."""
    hostile = [case for case in HOSTILE.values() if not case.in_memory and not case.heavy]
    for number, case in enumerate(hostile):
        place = tmp_path / f"{number:03}"
        (place / "outside").mkdir(parents=True)
        case.build(place / "checkpoint")
    write_to(tmp_path, stored({"healthy": (CLEAN, every())}))
    code, lines = inspect(tmp_path)
    assert code == ExitCode.NOT_JUDGED
    assert all(line.isprintable() for line in lines)
    assert any(line.startswith(" healthy ") and "continues with batch 6" in line for line in lines)
    assert int(lines[0].split()[0]) > len(hostile)
