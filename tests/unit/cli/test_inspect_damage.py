"""What `holdfast inspect` says of damaged checkpoints, in lines and in its exit code."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.inspect_text import render_text
from holdfast.cli.main import run
from holdfast.storage.memory import MemoryStorage
from tests.fuzz import writers
from tests.unit.checkpoint.archives import open_archive
from tests.unit.evidence.damaged import (
    KINDS,
    Damage,
    Forbidden,
    damaged,
    every,
    halve,
    inspected,
    on_line,
    remove,
    rewrite,
    swap,
    write,
)

COUNTS, FORMAT_2 = "4.2-aggregation", "4.2-aggregation-format-2"
PENDING = remove("commits/5")
NOW = datetime(2026, 11, 15, tzinfo=UTC)


def shown(storage: MemoryStorage, *, state: bool = False) -> list[str]:
    return render_text(inspected(storage, state=state), now=NOW)


def row_of(lines: list[str], label: str) -> str:
    """Return the line that begins with a label, its columns a single blank apart."""
    (found,) = [line for line in lines if line.startswith(f"  {label} ")]
    return " ".join(found.split())


def complete_of(lines: list[str]) -> str:
    """Return the last column of the only operator."""
    heading = next(place for place, line in enumerate(lines) if line.startswith("  operator"))
    return lines[heading + 1][lines[heading].index("complete") :].strip()


SAID: dict[str, tuple[Damage, str]] = {
    "twice": (
        PENDING,
        "If batch 5 already reached the sink, a sink that does not recognise it holds those "
        "records twice.",
    ),
    "lost": (
        remove("commits/[345]"),
        "2 batches (3 … 4) have no commit entry and are not run again: "
        "rows that had not reached the sink are lost.",
    ),
    "lost-one": (
        remove("commits/[45]"),
        "1 batch (4) has no commit entry and is not run again: "
        "rows that had not reached the sink are lost.",
    ),
    "then-fails": (
        remove("commits/5", sidecars=False),
        "The next start writes batch 5 to the sink again, then fails: "
        "Multiple streaming queries are concurrently using",
    ),
    "read-again-from-a-batch": (
        rewrite("offsets/5", on_line(2, "-")),
        "The next start reads source 0 again from the end of batch 4: its offset is missing. "
        "Rows that already reached the sink are duplicated.",
    ),
    "read-again-from-the-beginning": (
        every(PENDING, rewrite("offsets/5", on_line(2, "-"))),
        "The next start reads source 0 again from its beginning: its offset is missing. "
        "Rows that already reached the sink are duplicated.",
    ),
    "missing-state": (
        remove("state/0/0/6.delta", "state/0/0/6.snapshot"),
        "Batch 6 will fail: state/0/0/6.delta is missing, and batch 6 needs it.",
    ),
    "missing-state-named": (
        remove("state/0/0/6.delta", "state/0/0/6.snapshot"),
        "  missing  state/0/0/6.delta",
    ),
    "missing-partition-named": (remove("state/0/1"), "  missing  state/0/1"),
    "passed-over": (
        write("state/0/0/6.snapshot", b""),
        "  damaged  state/0/0/6.snapshot: Spark uses an older snapshot and the changes since",
    ),
    "error-of-spark": (
        remove("sources/0/4"),
        "Spark's error will contain: doesn't exist",
    ),
}


@pytest.mark.parametrize(("damage", "sentence"), SAID.values(), ids=SAID)
def test_a_sentence_says_what_the_next_start_does(damage: Damage, sentence: str) -> None:
    assert sentence in shown(damaged(COUNTS, damage))


@pytest.mark.parametrize("word", ["lost", "twice", "then fails", "damaged", "missing"])
def test_nothing_of_it_is_said_of_a_checkpoint_without_damage(word: str) -> None:
    assert word not in "\n".join(shown(damaged(COUNTS), state=True))


def test_offsets_behind_the_commits_are_said_to_fail_at_every_start() -> None:
    said = "\n".join(shown(damaged(COUNTS, remove("offsets/5")))[:3])
    assert "CONCURRENT_STREAM_LOG_UPDATE" in said
    assert "at every start" in said


def test_a_source_log_that_is_gone_is_said_first() -> None:
    first = shown(damaged(COUNTS, remove("sources/0/4")))[0]
    assert first.startswith("Spark will refuse to start: sources/0/4 is missing")


ROWS: dict[str, tuple[Damage, str, str]] = {
    "unparsed": (
        rewrite("offsets/2", lambda _: b""),
        "unreadable",
        "unreadable offsets/2 the file is empty",
    ),
    "edited": (
        rewrite("offsets/5", swap('"logOffset":4', '"logOffset":3'), sidecars=False),
        "edited",
        "edited offsets/5 changed after Spark wrote it: its checksum does not match",
    ),
    "edited-commit": (
        rewrite("commits/1", lambda raw: raw.replace(b":", b":1"), sidecars=False),
        "edited",
        "edited commits/1 changed after Spark wrote it: its checksum does not match",
    ),
    "orphan": (
        remove("commits/5", sidecars=False),
        "orphan",
        "orphan commits/.5.crc checksum of a deleted entry: Spark cannot write that entry again",
    ),
    "unexpected": (
        write("offsets/5.bak", b""),
        "unexpected",
        "unexpected offsets/5.bak not written by Spark; harmless: Spark ignores it",
    ),
    "no-rewind": (remove("state/0/1"), "rewind", "rewind impossible"),
    "rewind": (every(), "rewind", "rewind possible to batches 0 … 5"),
    "partitions": (
        remove("state/0/1"),
        "0",
        "0 stateStoreSave HDFS-backed 1 of 2 1 … 6 6",
    ),
    "needs-also-when-refused": (
        remove("offsets/4"),
        "0",
        "0 stateStoreSave HDFS-backed 2 1 … 6 6",
    ),
}


@pytest.mark.parametrize(("damage", "label", "row"), ROWS.values(), ids=ROWS)
def test_what_is_there_is_shown_in_rows(damage: Damage, label: str, row: str) -> None:
    assert row_of(shown(damaged(COUNTS, damage)), label).startswith(row)


@pytest.mark.parametrize("label", ["unreadable", "edited", "orphan", "unexpected", "temp file"])
def test_a_row_that_would_be_empty_is_not_there(label: str) -> None:
    assert not any(line.startswith(f"  {label}") for line in shown(damaged(COUNTS)))


@pytest.mark.parametrize(
    ("damage", "listed", "opened"),
    [
        (every(), "yes (not opened)", "yes"),
        (rewrite("state/0/0/6.delta", halve), "yes (not opened)", "no"),
        (remove("state/0/0/6.delta"), "no", "no"),
        (remove("state/0/1"), "no", "no"),
    ],
    ids=["clean", "cut", "missing", "partition-missing"],
)
def test_state_is_called_whole_as_far_as_was_looked(
    damage: Damage, listed: str, opened: str
) -> None:
    storage = damaged(*KINDS["deltas"], damage)
    assert complete_of(shown(storage)) == listed
    assert complete_of(shown(storage, state=True)) == opened


@pytest.mark.parametrize(
    ("kind", "damage", "rows", "named"),
    [
        ("deltas", every(), [2, 4], ()),
        ("snapshot", rewrite("state/0/0/3.snapshot", halve), [2, 4], ("state/0/0/3.snapshot",)),
        ("deltas", rewrite("state/0/0/6.delta", halve), [None, 4], ("state/0/0/6.delta",)),
    ],
    ids=["clean", "snapshot-cut", "delta-cut"],
)
def test_rows_are_counted_where_the_files_can_be_read(
    *, kind: str, damage: Damage, rows: list[int | None], named: tuple[str, ...]
) -> None:
    archive, left = KINDS[kind]
    found = inspected(damaged(archive, left, damage), state=True)
    assert found.stores is not None
    assert [store.rows for store in found.stores] == rows
    assert tuple(each.path for store in found.stores for each in store.damaged) == named


def test_as_many_rows_are_counted_as_spark_says() -> None:
    (told,) = open_archive(COUNTS).batches[5]["stateOperators"]
    stores = inspected(damaged(*KINDS["deltas"]), state=True).stores or ()
    assert (
        sum(store.rows for store in stores if isinstance(store.rows, int)) == told["numRowsTotal"]
    )


def test_stores_are_shown_only_when_asked_for() -> None:
    storage = damaged(*KINDS["deltas"])
    assert "1.delta … 6.delta" in row_of(shown(storage, state=True), "state/0/0")
    assert not any(line.startswith("  state/0/0") for line in shown(storage))


def test_a_file_that_unpacks_beyond_measure_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.checkpoint.state.codecs._FREE_BYTES", 1 << 10)
    bomb = writers.zstd(writers.pairs([(b"key", bytes(8 << 20))]))
    storage = damaged(*KINDS["deltas"], write("state/0/0/6.delta", bomb))
    lines = shown(storage, state=True)
    assert lines[0] == "Batch 6 will fail: state/0/0/6.delta is damaged, and batch 6 needs it."
    assert any("times its size" in line for line in lines)


def test_only_versions_that_can_read_it_are_said_to_do_something_else() -> None:
    (elsewhere,) = [
        line for line in shown(damaged(FORMAT_2, remove("metadata"))) if line.startswith("On Spark")
    ]
    assert elsewhere.startswith("On Spark 4.0 or 4.1: Batch 5 is committed")


ELSEWHERE: dict[str, tuple[Damage, list[str]]] = {
    "offsets-deleted": (
        remove("offsets"),
        [
            "On Spark 3.5 or 4.0: The next start writes batch 0 to the sink, then fails: "
            "CONCURRENT_STREAM_LOG_UPDATE",
            "On Spark 4.1: Spark will refuse to start: the first batch needs an empty checkpoint, "
            "but commits/0 exists.",
        ],
    ),
    "pending-without-settings": (
        every(PENDING, rewrite("offsets/5", on_line(1, ""))),
        [
            "On Spark 3.5, 4.0 or 4.1: The next start writes batch 5 to the sink again, then "
            "fails: WatermarkTracker"
        ],
    ),
    "pending-without-offset": (
        every(PENDING, rewrite("offsets/5", on_line(2, "-"))),
        [
            "On Spark 3.5: The next start reads source 0 again from the end of batch 4: its offset "
            "is missing. Rows that already reached the sink are duplicated."
        ],
    ),
    "schema-empty": (
        rewrite("state/0/0/_metadata/schema", lambda _: b""),
        [
            "On Spark 3.5: Batch 6 will fail: state/0/0/_metadata/schema: it ends in the middle of "
            "a record."
        ],
    ),
}


@pytest.mark.parametrize(("damage", "expected"), ELSEWHERE.values(), ids=list(ELSEWHERE))
def test_what_another_version_does_to_the_data_is_said(damage: Damage, expected: list[str]) -> None:
    lines = shown(damaged("4.0-aggregation", damage))
    assert [line for line in lines if line.startswith("On Spark")] == expected


@pytest.mark.parametrize(
    ("archive", "written"),
    [("4.1-aggregation", "Spark 4.1"), ("4.0-aggregation", "Spark 4.0 or 4.1")],
)
def test_who_wrote_it_is_said(archive: str, written: str) -> None:
    assert row_of(shown(damaged(archive)), "query").endswith(f"written by {written}")


CODES: dict[str, tuple[MemoryStorage, ExitCode]] = {
    "clean": (damaged(COUNTS), ExitCode.DONE),
    "refused": (damaged(COUNTS, remove("sources/0/4")), ExitCode.DONE),
    "unread": (Forbidden(damaged(COUNTS).files, "sources/0/4"), ExitCode.NOT_JUDGED),
    "continuous": (damaged("4.2-continuous"), ExitCode.NOT_JUDGED),
    "nothing": (MemoryStorage(), ExitCode.NOT_JUDGED),
}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("storage", "code"), CODES.values(), ids=CODES)
def test_the_exit_code_says_whether_it_is_known(
    monkeypatch: pytest.MonkeyPatch, *, storage: MemoryStorage, code: ExitCode, form: str
) -> None:
    monkeypatch.setattr("holdfast.bundle.open.open_reader", lambda *_: storage)
    with pytest.raises(SystemExit) as exited:
        run(["inspect", "checkpoint", "--format", form])
    assert exited.value.code == code
