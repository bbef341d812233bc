"""A second scan reads what has moved; a comparison says what got worse."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest

from holdfast.errors import ConfigError
from holdfast.fleet.compare import compare_scans, is_worse
from holdfast.fleet.paths import read_locations
from holdfast.fleet.request import FleetRequest
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.scan import FleetScanner
from holdfast.judgement.judge import Verdict
from holdfast.spark_versions import SparkVersion
from tests.unit.cli.test_inspect_directory import stored, write_to
from tests.unit.evidence.damaged import every, remove
from tests.unit.fleet.scanning import Counted
from tests.unit.fleet.test_across import row

KAFKA = "4.2-kafka"
PATHS = [f"team/{number}" for number in range(6)]


def lake() -> Counted:
    return Counted(stored({path: (KAFKA, every()) for path in PATHS}).files)


def scan(
    reader: Counted,
    *,
    earlier: list[FleetRow] | None = None,
    spark: SparkVersion | None = None,
) -> list[FleetRow]:
    known = {each.location: each for each in earlier or []}
    request = FleetRequest(locations=("memory",), workers=1, spark=spark)
    reader.requests = 0
    rows = FleetScanner(request, earlier=known, open_at=lambda _: reader).run()
    return sorted(rows, key=lambda each: each.path)


def test_what_has_not_moved_costs_one_request() -> None:
    reader = lake()
    first = scan(reader)
    second = scan(reader, earlier=first)
    assert [each.requests for each in second] == [1] * 6
    assert reader.requests == 6 + 2  # and the two directories above them
    assert [each.judged_ms for each in second] == [each.judged_ms for each in first]
    assert [each.verdict for each in second] == [Verdict.SAFE] * 6


@pytest.mark.parametrize(
    ("path", "raw", "verdict"),
    [
        ("offsets/7", b"v1\n{", Verdict.FAILS),
        ("commits/6", b"", Verdict.FAILS),
        ("metadata", b"{", Verdict.FAILS),
    ],
)
def test_what_has_moved_is_read_again(path: str, raw: bytes, verdict: Verdict) -> None:
    reader = lake()
    first = scan(reader)
    reader.files[f"team/3/{path}"] = raw
    second = {each.path: each for each in scan(reader, earlier=first)}
    assert second["team/3"].verdict is verdict
    assert [each.path for each in second.values() if each.requests > 1] == ["team/3"]


def test_what_was_judged_for_another_version_is_judged_again() -> None:
    reader = lake()
    first, other = scan(reader), scan(reader, spark=(4, 0))
    assert {each.requests for each in scan(reader, earlier=other, spark=(4, 0))} == {1}
    for again in (scan(reader, earlier=other), scan(reader, earlier=first, spark=(4, 0))):
        assert 1 not in {each.requests for each in again}
    older = [msgspec.structs.replace(each, judged_by="0.0.1") for each in first]
    assert 1 not in {each.requests for each in scan(reader, earlier=older)}


def test_what_is_new_and_what_is_gone_is_seen() -> None:
    reader = lake()
    first = scan(reader)
    files = {path: raw for path, raw in reader.files.items() if not path.startswith("team/0/")}
    reader.files = {**files, **stored({"new": (KAFKA, remove("offsets/5"))}).files}
    second = scan(reader, earlier=first)
    assert [each.path for each in second] == ["new", *PATHS[1:]]
    found = compare_scans(first, second)
    assert found.totals == {"gone": 1, "new": 1, "newly-unsafe": 1}
    assert found.unchanged == 5


def test_what_could_not_be_read_is_read_again() -> None:
    reader = lake()
    first = [
        row("team/0", unread="403", verdict=Verdict.UNKNOWN, location="memory://memory/team/0")
    ]
    assert scan(reader, earlier=first)[0].verdict is Verdict.SAFE


def test_a_comparison_names_what_got_worse_first() -> None:
    before = [
        row("fine"),
        row("stuck", is_pending=True),
        row("big", size_bytes=1_000_000),
        row("back"),
        row("bad", verdict=Verdict.FAILS),
        row("lost"),
        row("dim"),
    ]
    after = [
        row("fine", newest_batch=8),
        row("stuck", is_pending=True),
        row("big", size_bytes=3_000_000),
        row("back", newest_batch=3),
        row("bad"),
        row("lost", verdict=Verdict.LOSES),
        row("dim", verdict=Verdict.UNKNOWN),
    ]
    found = compare_scans(before, after)
    assert [(each.change.value, each.location) for each in found.changes] == [
        ("newly-unsafe", "s3://lake/lost"),
        ("went-back", "s3://lake/back"),
        ("stuck", "s3://lake/stuck"),
        ("no-longer-known", "s3://lake/dim"),
        ("growing", "s3://lake/big"),
        ("recovered", "s3://lake/bad"),
    ]
    assert is_worse(found)
    assert not is_worse(compare_scans(before[:1], before[:1]))


def test_named_checkpoints_are_not_searched_for(tmp_path: Path) -> None:
    write_to(tmp_path, stored({"a/one": (KAFKA, every()), "b/two": (KAFKA, remove("offsets/5"))}))
    listed = tmp_path / "paths.txt"
    listed.write_text(f"# ours\n{tmp_path}/a/one\n\n{tmp_path}/b/two\n{tmp_path}/a/one\n")
    named = list(read_locations(str(listed)))
    rows = FleetScanner(FleetRequest(locations=()), named=named).run()
    assert {each.location: each.verdict for each in rows} == {
        f"{tmp_path}/a/one": Verdict.SAFE,
        f"{tmp_path}/b/two": Verdict.FAILS,
    }


def test_an_inventory_names_a_checkpoint_by_its_log_entries(tmp_path: Path) -> None:
    lines = [
        '"lake","team/orders+eu/offsets/0","12"',
        '"lake","team/orders+eu/offsets/1","12"',
        '"lake","team/orders+eu/commits/0","12"',
        '"lake","team/a%2Fb/commits/9","12"',
        '"lake","tables/x/offsets/readme.txt","1"',
        '"lake","tables/x/metadata","1"',
    ]
    file = tmp_path / "inventory.csv.gz"
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert list(map(str, read_locations(str(file)))) == [
        "s3://lake/team/orders eu",
        "s3://lake/team/a/b",
    ]


@pytest.mark.parametrize(
    ("name", "text"), [("x.csv", "one\n"), ("x.txt", "ftp://host/x\n"), ("none.txt", None)]
)
def test_a_file_that_names_no_checkpoint_is_refused(
    tmp_path: Path, name: str, text: str | None
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError):
        list(read_locations(str(tmp_path / name)))
