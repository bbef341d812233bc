"""`holdfast state`, as people and programs call it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.state_json import StateJson
from tests import calling
from tests.fuzz import writers
from tests.hostile_strings import HOSTILE, breaks_terminal
from tests.unit.checkpoint.unsafe_rows import checkpoint_files, row, struct_of
from tests.unit.cli.inspecting import unpack

TEXT, NUMBER = struct_of(k="string"), struct_of(n="long")
Call = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def state(capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: str | Path) -> tuple[int, list[str]]:
        code, out, err = calling.call(capsys, "state", *map(str, arguments))
        return code, (out or err).rstrip("\n").split("\n")

    return call


def write(place: Path, files: dict[str, bytes]) -> Path:
    for path, raw in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(raw)
    return place


def one_store(place: Path, *batches: list[tuple[bytes, bytes | None]], **conf: str) -> Path:
    settings = {f"spark.sql.streaming.stateStore.{key}": each for key, each in conf.items()}
    return write(place, checkpoint_files(batches, TEXT, NUMBER, conf=settings))


def test_the_first_line_is_the_answer_and_a_table_follows(state: Call, tmp_path: Path) -> None:
    code, lines = state(unpack("4.2-aggregation-rocksdb", tmp_path))
    assert code == ExitCode.DONE
    assert lines[0] == "1 operator, 6 rows, 57.3 kB; version 6."
    assert (
        "  0         stateStoreSave  default  RocksDB   6     57.3 kB  2           1 (83 %)"
        in lines
    )
    at = lines.index("  Growth of operator 0:")
    assert [line.split()[:3] for line in lines[at + 2 : at + 8]] == [
        ["1", "3", "10.1"],
        ["2", "6", "+3"],
        ["3", "6", "+0"],
        ["4", "9", "+3"],
        ["5", "9", "+0"],
        ["6", "6", "-3"],
    ]
    assert lines[-1].startswith('  spark.read.format("statestore").option("operatorId", 0).load("')


@pytest.mark.parametrize("name", ["4.2-aggregation-zstd", "4.2-aggregation-rocksdb"])
def test_a_key_is_found_with_its_value_and_since_when(
    state: Call, tmp_path: Path, name: str
) -> None:
    asked = ("--key", "k=k1", "--key", "window.start=2026-01-01 00:00:30")
    code, lines = state(unpack(name, tmp_path), *asked)
    assert code == ExitCode.DONE
    assert lines[0] == (
        "1 row of 6 has the key k=k1 and window.start=2026-01-01 00:00:30: "
        "operator 0 (stateStoreSave), partition 0, since version 5; version 6."
    )
    said = '{window: 2026-01-01 00:00:30 … 2026-01-01 00:00:40 UTC, k: "k1"} -> {count: 1, sum: 31}'
    size = 80 if name == "4.2-aggregation-zstd" else 82
    assert lines[2] == f"  0/0  {said}  (since version 5, {size} B)"


@pytest.mark.parametrize(
    "key", ["k1", "k=k1", "2026-01-01T00:00:40Z", "end=2026-01-01 00:00:40 UTC"]
)
def test_a_value_alone_is_looked_for_in_every_column(state: Call, tmp_path: Path, key: str) -> None:
    code, lines = state(unpack("4.3-aggregation", tmp_path), "--key", key)
    assert code == ExitCode.DONE
    assert " rows of 6 have the key " in lines[0] or "1 row of 6" in lines[0]


@pytest.mark.parametrize("key", ["nothing", "k=K1", "31", "null", "k="])
def test_a_key_that_is_not_there_is_an_answer(state: Call, tmp_path: Path, key: str) -> None:
    code, lines = state(unpack("4.2-aggregation", tmp_path), "--key", key)
    assert (code, lines[0]) == (ExitCode.FOUND, f"No row of 6 has the key {key}; version 6.")


def test_a_column_that_no_key_has_is_said(state: Call, tmp_path: Path) -> None:
    code, lines = state(unpack("4.2-aggregation", tmp_path), "--key", "other=k1")
    assert code == ExitCode.FOUND
    assert lines[0] == (
        "No row of 6 has the key other=k1; version 6. "
        "No key has a column other; there are: window.start, window.end, k."
    )


@pytest.mark.parametrize("asked", ["k=a", "k=7", "7"])
def test_columns_of_one_name_are_all_searched(state: Call, tmp_path: Path, asked: str) -> None:
    key = {"fields": [*struct_of(k="string")["fields"], *struct_of(k="long")["fields"]]}
    files = checkpoint_files([[(row(b"a", 7), row(1))]], key, NUMBER)
    assert state(write(tmp_path, files), "--key", asked)[0] == ExitCode.DONE


def test_a_row_that_was_removed_and_came_back_is_there_since_then(
    state: Call, tmp_path: Path
) -> None:
    key, value = row(b"a"), row(1)
    batches: list[list[tuple[bytes, bytes | None]]] = [
        [(key, value)],
        [(key, None)],
        [(key, row(2))],
        [(key, row(3))],
    ]
    _, lines = state(one_store(tmp_path, *batches), "--key", "a")
    assert lines[0].endswith("since version 3; version 4.")
    assert lines[2] == '  0/0  {k: "a"} -> {n: 3}  (since version 3, 40 B)'


def test_what_was_there_before_the_oldest_version_is_earlier(state: Call, tmp_path: Path) -> None:
    code, lines = state(unpack("4.3-aggregation-purged", tmp_path), "--key", "k1")
    assert code == ExitCode.DONE
    assert any("or earlier" in line for line in lines)


def test_skew_is_in_the_first_line(state: Call, tmp_path: Path) -> None:
    many = [[(row(f"{n}".encode()), row(n)) for n in range(90)]]
    files = checkpoint_files(many, TEXT, NUMBER, conf={"spark.sql.shuffle.partitions": "2"})
    few = checkpoint_files([[(row(b"x%d" % n), row(n)) for n in range(10)]], TEXT, NUMBER)
    files["state/0/1/1.delta"] = few["state/0/0/1.delta"]
    code, lines = state(write(tmp_path, files))
    assert code == ExitCode.DONE
    assert lines[0].endswith("Operator 0 is skewed: partition 0 has 90 % of the rows.")
    _, lines = state(tmp_path, "--partition", "1")
    assert lines[0].startswith("1 operator, 10 rows, ")


def test_a_partition_that_is_missing_is_not_an_empty_one(state: Call, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-aggregation", tmp_path)
    shutil.rmtree(checkpoint / "state/0/1")
    code, lines = state(checkpoint)
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].startswith("1 operator, at least 2 rows (1 of 2 stores not counted), ")
    assert "  missing  state/0/1" in lines
    code, lines = state(checkpoint, "--key", "nothing")
    assert code == ExitCode.NOT_JUDGED
    assert lines[0] == (
        "Not known whether a row has the key nothing; version 6. 1 store could not be searched."
    )


def test_damage_is_named_and_not_an_exception(state: Call, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-aggregation-pending", tmp_path)
    for path in checkpoint.glob("state/0/1/[0-9]*"):
        path.write_bytes(b"not a state file")
    code, lines = state(checkpoint)
    assert code == ExitCode.NOT_JUDGED
    assert "at least" in lines[0]
    assert any(line.startswith("  damaged  state/0/1/1.delta: it begins with") for line in lines)


@pytest.mark.parametrize(
    ("conf", "what"),
    [({"encodingFormat": "avro"}, "rows in Avro"), ({"rowChecksum.enabled": "true"}, "checksums")],
)
def test_encodings_that_are_not_decoded_are_said_by_name(  # noqa: PLR0917 - two fixtures
    state: Call, tmp_path: Path, conf: dict[str, str], what: str
) -> None:
    checkpoint = one_store(tmp_path, [(row(b"a"), row(1))], **conf)
    code, lines = state(checkpoint)
    assert (code, lines[0][:18]) == (ExitCode.DONE, "1 operator, 1 row,")
    assert any("not decoded" in line and what in line for line in lines)
    code, lines = state(checkpoint, "--key", "a")
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].startswith("Not known whether a row has the key a")


def test_a_key_that_is_not_decoded_is_not_a_key_that_is_not_there(
    state: Call, tmp_path: Path
) -> None:
    many = {"type": "array", "elementType": "string", "containsNull": True}
    key = struct_of(k="string", many=many)
    batch = [(row(b"a", b"12345678"), row(1))]
    checkpoint = write(tmp_path, checkpoint_files([batch], key, NUMBER))
    code, lines = state(checkpoint, "--key", "k=a")
    assert (code, lines[2][:46]) == (
        ExitCode.DONE,
        '  0/0  {k: "a", many: (array<string> is not de',
    )
    assert state(checkpoint, "--key", "k=b")[0] == ExitCode.FOUND
    for asked in ("b", "many=b"):
        code, lines = state(checkpoint, "--key", asked)
        assert code == ExitCode.NOT_JUDGED
        assert lines[0].startswith(f"Not known whether a row has the key {asked}")


def test_a_prefix_key_without_metadata_is_not_searched_as_if_it_was_decoded(
    state: Call, tmp_path: Path
) -> None:
    files = checkpoint_files([[]], TEXT, NUMBER)
    del files["state/0/0/1.delta"]
    key, value = b"\x21\0\0\0\0" + row(b"a") + b"\0" + row(), b"\0" + row(1)
    files["state/0/0/1.changelog"] = writers.stored(writers.pairs([(key, value)]))
    checkpoint = write(tmp_path, files)
    code, lines = state(checkpoint, "--key", "k=a")
    assert code == ExitCode.NOT_JUDGED
    assert state(checkpoint, "--key", "k=b")[0] == ExitCode.FOUND
    _, lines = state(checkpoint)
    assert "(a key with a prefix of unknown length is not decoded)" in lines[3]


def test_a_prefix_key_is_decoded_as_operator_metadata_says(state: Call, tmp_path: Path) -> None:
    files = checkpoint_files([[]], struct_of(k="string", start="timestamp"), NUMBER)
    del files["state/0/0/1.delta"]
    prefix = b"\0" + row(b"a")
    key = len(prefix).to_bytes(4, "little") + prefix + b"\0" + row(1_767_225_600_000_000)
    files["state/0/0/1.changelog"] = writers.stored(writers.pairs([(key, b"\0" + row(5))]))
    store = {"storeName": "default", "numColsPrefixKey": 1, "numPartitions": 1}
    info = {"operatorId": 0, "operatorName": "sessionWindowStateStoreSaveExec"}
    said = json.dumps({"operatorInfo": info, "stateStoreInfo": [store]})
    files["state/0/_metadata/metadata"] = writers.versioned(1, said)
    code, lines = state(write(tmp_path, files), "--key", "k=a", "--key", "start=2026-01-01")
    assert code == ExitCode.DONE
    assert '{k: "a", start: 2026-01-01 00:00:00 UTC} -> {n: 5}' in lines[2]


def test_column_families_are_counted_and_left_to_spark(state: Call, tmp_path: Path) -> None:
    code, lines = state(unpack("4.3-transform-with-state", tmp_path))
    assert code == ExitCode.NOT_JUDGED
    assert lines[0].startswith("1 operator, rows not known (2 of 2 stores not counted), ")
    why = "changelogs of column families are not followed"
    assert f"  not counted  state/0/0: {why}" in lines
    assert any("not decoded  operator 0, store default: column families (" in x for x in lines)
    assert '.option("stateVarName", "NAME")' in lines[-1]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_keys_and_names_do_not_steer_a_terminal(
    state: Call, tmp_path: Path, name: str
) -> None:
    text = HOSTILE[name]
    raw = text.encode("utf-8", "surrogatepass")
    key, value = struct_of(**{text[:500]: "string"}), struct_of(**{text[:500]: text[:50]})
    batch = [(row(raw), row(7))]
    checkpoint = write(tmp_path, checkpoint_files([batch], key, value))
    code, lines = state(checkpoint)
    assert code == ExitCode.DONE
    assert [line for line in lines if breaks_terminal(line)] == []
    assert all(len(line) < 5_000 for line in lines)
    code, lines = state(checkpoint, "--format", "json")
    assert json.loads("\n".join(lines))["rows"] == 1
    asked = ("--key", f"x={text[:1_000]}".replace("\0", ""))
    code, lines = state(checkpoint, *asked)
    assert [line for line in lines if breaks_terminal(line)] == []
    code, lines = state(checkpoint, *asked, "--format", "json")
    is_read = name not in {"lone surrogate", "bytes that are no UTF-8"}  # no schema can say that
    assert code == (ExitCode.FOUND if is_read else ExitCode.NOT_JUDGED)
    assert json.loads("\n".join(lines))["matching"] == 0


def test_without_state_or_checkpoint_that_is_said(state: Call, tmp_path: Path) -> None:
    code, lines = state(tmp_path / "nowhere")
    assert (code, lines[0][:26]) == (ExitCode.NOT_JUDGED, "There is no checkpoint at ")
    code, lines = state(unpack("4.2-stateless", tmp_path))
    assert code == ExitCode.DONE
    assert lines[0].endswith("the query has no stateful operator.")


def test_an_operator_or_partition_that_is_not_there_is_refused(state: Call, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-two-operators", tmp_path)
    code, lines = state(checkpoint, "--operator", "7")
    assert code == ExitCode.USAGE
    assert "There is no operator 7 in state/; there are: 0, 1." in "\n".join(lines)
    code, lines = state(checkpoint, "--partition", "9")
    assert code == ExitCode.USAGE
    assert "There is no partition 9 in state/; the highest is 1." in "\n".join(lines)
    code, lines = state(checkpoint, "--operator", "1")
    assert lines[0].startswith("1 operator, 1 row, ")


def test_the_json_has_the_same_answer_and_fits_its_schema(state: Call, tmp_path: Path) -> None:
    _, lines = state(unpack("4.2-aggregation", tmp_path), "--key", "k1", "--format", "json")
    text = "\n".join(lines)
    found = msgspec.json.decode(text, type=StateJson)
    assert (found.rows, found.matching, found.is_searched) == (6, len(found.found), True)
    assert [each.rows for each in found.stores[0].versions] == [3, 6, 9, 9, 9, 6]
    first: Any = found.found[0]
    assert first.key["k"] == "k1"
    assert first.key["window"]["start"].startswith("2026-01-01T00:00:")


def test_nothing_is_written(state: Call, tmp_path: Path) -> None:
    checkpoint = unpack("4.2-join-rocksdb", tmp_path)
    before = {path: path.stat().st_mtime_ns for path in sorted(checkpoint.rglob("*"))}
    state(checkpoint, "--key", "k0")
    assert {path: path.stat().st_mtime_ns for path in sorted(checkpoint.rglob("*"))} == before
