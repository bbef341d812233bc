"""A scan finds every checkpoint and nothing else, and makes a row of whatever it finds."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.errors import ReadError
from holdfast.fleet.request import FleetRequest
from holdfast.fleet.run import run_scan
from holdfast.fleet.scan import FleetScanner
from holdfast.fleet.slices import scan_places, slice_search
from holdfast.judgement.judge import Verdict
from holdfast.record.generations import open_generation
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Listing
from holdfast.storage.write import open_writer
from tests.fuzz.hostile.cases import CASES as HOSTILE
from tests.unit.cli.test_inspect_directory import generation, stored, write_to
from tests.unit.evidence.damaged import every, remove
from tests.unit.fleet.scanning import scan_all, scanner_of

KAFKA = "4.2-kafka"
FLEET = stored(
    {
        "team-a/orders": (KAFKA, every()),
        "team-a/deep/er/clicks": (KAFKA, remove("commits/6")),
        "team-b/orders": (KAFKA, remove("offsets/5")),
    }
)


def test_every_checkpoint_has_one_row() -> None:
    rows = scan_all(FLEET, workers=8)
    assert {path: row.verdict for path, row in rows.items()} == {
        "team-a/orders": Verdict.SAFE,
        "team-a/deep/er/clicks": Verdict.REPEATS,
        "team-b/orders": Verdict.FAILS,
    }
    broken = rows["team-b/orders"]
    assert (broken.decided_by, broken.newest_batch, broken.committed_batch) == ("HF203", 6, 6)
    assert "offsets/5 is missing" in broken.sentence
    assert broken.what_to_do.startswith("Run `holdfast plan resume ")
    assert broken.query_id
    assert broken.sources == ("kafka fixtures",)
    assert rows["team-a/deep/er/clicks"].is_pending


def test_the_owner_is_found_in_the_path() -> None:
    rows = scan_all(FLEET, owner="^team-([^/]+)/")
    assert {row.owner for row in rows.values()} == {"a", "b"}
    assert {row.owner for row in scan_all(FLEET, owner="nobody").values()} == {None}


def test_what_is_excluded_or_too_deep_is_counted() -> None:
    scanner = scanner_of(FLEET, exclude=("team-b",), depth=2)
    found = run_scan(scanner, keeps_rows=True)
    assert [row.path for row in found.rows] == ["team-a/orders"]
    assert (scanner.walk.excluded, scanner.walk.too_deep) == (1, 1)
    (deep,) = [each for each in found.findings if each.name == "not-searched"]
    assert deep.locations == ("memory://memory/team-a/deep/er",)


def test_a_directory_with_the_name_of_a_log_is_searched() -> None:
    """A team may be called `offsets`, and keep its checkpoints there."""
    found = scan_all(stored({"lake/offsets/orders": (KAFKA, every())}))
    assert list(found) == ["lake/offsets/orders"]


def test_tables_and_files_are_no_checkpoints() -> None:
    storage = MemoryStorage(
        {
            "table/_delta_log/00.json": b"",
            "table/day=1/offsets/0": b"",
            "iceberg/metadata/v1.metadata.json": b"{}",
            "readme.txt": b"",
        }
    )
    assert scan_all(storage) == {}


def test_a_checkpoint_inside_another_is_found() -> None:
    storage = stored({"raw": (KAFKA, every()), "raw/inner": (KAFKA, every())})
    found = run_scan(scanner_of(storage), keeps_rows=True)
    assert sorted(row.path for row in found.rows) == ["raw", "raw/inner"]
    assert [each.locations for each in found.findings if each.name == "shared-location"] == [
        ("memory://memory/raw/inner",)
    ]


def test_what_cannot_be_read_is_a_row_and_the_others_are_judged() -> None:
    class Closed(MemoryStorage):
        def list(self, directory: str = "") -> Listing:
            if directory == "team-b/orders":
                raise ReadError(directory, why="The store answered: 403.", how="Ask for rights.")
            return super().list(directory)

    rows = scan_all(Closed(FLEET.files))
    closed = rows["team-b/orders"]
    assert (closed.verdict, closed.unread) == (Verdict.UNKNOWN, "The store answered: 403.")
    assert rows["team-a/orders"].verdict is Verdict.SAFE


def test_a_location_that_is_a_checkpoint_is_one_row(tmp_path: Path) -> None:
    write_to(tmp_path, stored({"orders": (KAFKA, every())}))
    root = str(tmp_path / "orders")
    (row,) = FleetScanner(FleetRequest(locations=(root,))).run()
    assert (row.path, row.location, row.verdict) == ("orders", root, Verdict.SAFE)


def test_a_replaced_generation_is_named_and_not_judged(tmp_path: Path) -> None:
    kept = {"raw": (KAFKA, remove("offsets/5")), "raw.g2": (KAFKA, every())}
    write_to(tmp_path, stored(kept))
    record = open_writer(str(tmp_path / "_holdfast/raw"))
    for number, name in ((1, "raw"), (2, "raw.g2")):
        assert open_generation(record, generation(number, str(tmp_path / name)))
    rows = {row.path: row for row in FleetScanner(FleetRequest(locations=(str(tmp_path),))).run()}
    assert rows["raw"].replaced_by == 2
    assert (rows["raw.g2"].replaced_by, rows["raw.g2"].verdict) == (None, Verdict.SAFE)


def test_hostile_checkpoints_are_rows_beside_the_others(tmp_path: Path) -> None:
    built = [case for case in HOSTILE.values() if not case.in_memory and not case.heavy]
    hostile = built[::6]
    for number, case in enumerate(hostile):
        place = tmp_path / f"{number:03}"
        (place / "outside").mkdir(parents=True)
        case.build(place / "checkpoint")
    write_to(tmp_path, stored({"healthy": (KAFKA, every())}))
    rows = list(FleetScanner(FleetRequest(locations=(str(tmp_path),))).run())
    assert len(rows) > len(hostile)
    assert [row.verdict for row in rows if row.path == "healthy"] == [Verdict.SAFE]
    assert all(text.isprintable() for row in rows for text in (row.location, row.sentence))
    assert [row.path for row in rows if "Report this as a bug" in row.what_to_do] == []


def test_locations_inside_each_other_give_one_row_each(tmp_path: Path) -> None:
    write_to(tmp_path, FLEET)
    named = (str(tmp_path), f"{tmp_path}/team-a", f"{tmp_path}/team-a/", f"{tmp_path}/team-b")
    expected = {f"{tmp_path}/{path}" for path in scan_all(FLEET)}
    rows = [row.location for row in FleetScanner(FleetRequest(locations=named)).run()]
    assert (sorted(rows), len(rows)) == (sorted(expected), 3)
    for slices in (1, 8):
        cut = slice_search(FleetRequest(locations=named), slices=slices)
        rows = [row.location for part in cut.cut(2) for row in scan_places(cut.request, part)]
        assert sorted(rows) == sorted(expected)


def test_slices_scan_what_is_named_and_say_what_is_missing(tmp_path: Path) -> None:
    write_to(tmp_path, FLEET)
    named = [parse_location(f"{tmp_path}/team-b/orders")]
    cut = slice_search(FleetRequest(locations=(f"{tmp_path}/x",)), slices=2, named=named)
    rows = [row for part in cut.cut(2) for row in scan_places(cut.request, part)]
    assert {row.location: row.unread for row in rows} == {
        f"{tmp_path}/x": "It does not exist.",
        f"{tmp_path}/team-b/orders": None,
    }
    assert {row.verdict for row in rows} == {Verdict.UNKNOWN, Verdict.FAILS}


def test_long_locations_are_not_taken_for_each_other() -> None:
    deep = "/".join(["d" * 200] * 3)
    rows = list(scanner_of(stored({f"{deep}/{n}": (KAFKA, every()) for n in "ab"})).run())
    assert len({row.location for row in rows}) == 2
    assert {row.location[-2:] for row in rows} == {"/a", "/b"}


def test_a_name_that_is_not_utf_8_crosses_to_a_task(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"caf\xe9")
    write_to(place, FLEET)
    cut = slice_search(FleetRequest(locations=(str(tmp_path),)), slices=4)
    assert all(each.isascii() for each in cut.places)
    rows = [row for part in cut.cut(4) for row in scan_places(cut.request, part)]
    assert sorted(row.verdict for row in rows) == sorted(
        [Verdict.SAFE, Verdict.REPEATS, Verdict.FAILS]
    )
    assert all(row.location.startswith(f"{tmp_path}/caf\\udce9/team-") for row in rows)
