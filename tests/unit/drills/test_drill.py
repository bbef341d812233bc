"""A drill of a program that stands for a stream: it renames what Spark renames."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from holdfast import __version__
from holdfast.drills.checks import READER
from holdfast.drills.drill import Answer, Drilled, Seen, Write, run_drill
from holdfast.drills.history import History, Looked, Row
from holdfast.drills.kill.driver import Driver
from holdfast.drills.kill.points import Named, Rename
from holdfast.drills.summary import RESULT, About, SummaryJson, summarize, write_summary
from holdfast.drills.timeline_rows import timeline_rows
from holdfast.drills.verdict import DrillVerdict
from holdfast.report.timeline import DriverRow

PARTS = 4
BEGAN = datetime(2026, 11, 16, 9, 31, tzinfo=UTC)
PROGRAM = """
import os, sys
from pathlib import Path
from holdfast import points
def reached(point):
    if "plain" not in sys.argv:
        points.reached(point)
def tell(what, value):
    reached(f"{what}={value}")
home, ledger = Path(sys.argv[1]), "ledger" in sys.argv
for kind in ("offsets", "commits"):
    (home / kind).mkdir(exist_ok=True)
sink = home / "sink"
sink.touch()
tell("epoch", 1 + len(list(home.glob("runs/*.log"))))
reached("G2")
points.reached("streams-started")
def entry(kind, number):
    (home / "tmp").write_text("")
    os.rename(home / "tmp", home / kind / str(number))
for number in range(4):
    if (home / "commits" / str(number)).exists():
        continue
    if not (home / "offsets" / str(number)).exists():
        entry("offsets", number)
    tell("batch", number)
    reached("S1")
    if ledger and str(number) in sink.read_text().split():
        tell("skipped", number)
    else:
        with sink.open("a") as file:
            file.write(f"{number}\\n")
    reached("S7")
    entry("commits", number)
"""


@dataclass(frozen=True, kw_only=True)
class Fake:
    """Writes the number of every batch to a file; with or without asking what is there."""

    home: Path
    options: Sequence[str] = ()

    @cached_property
    def driver(self) -> Driver:
        program = self.home / "program.py"
        program.write_text(PROGRAM)
        arguments = [str(program), str(self.home), *self.options]
        runs = self.home / "runs"
        return Driver(arguments, environment={}, directory=runs, checkpoints=self.home)

    @property
    def answers(self) -> Sequence[Answer]:
        rows: list[Row] = [(number,) for number in range(PARTS)]
        return (Answer(sink="file", after=[rows[:parts] for parts in range(PARTS + 1)]),)

    def look(self) -> Iterator[Seen]:
        numbers = [int(line) for line in (self.home / "sink").read_text().split()]
        parts = max(numbers, default=-1) + 1
        yield Seen(sink="file", parts=parts, rows=[(number,) for number in numbers])


@dataclass(frozen=True, kw_only=True)
class Watched(Fake):
    """A reader looks too whenever the judge does, and misses the first row."""

    writes: list[Write] = field(default_factory=list)

    @contextmanager
    def reading(self, write: Write) -> Iterator[None]:
        self.writes.append(write)
        yield

    def look(self) -> Iterator[Seen]:
        (seen,) = super().look()
        self.writes[0]([replace(seen, rows=list(seen.rows)[1:])])
        yield seen


def drill(home: Path, *kills: Named | Rename, options: Sequence[str] = ()) -> Drilled:
    place = Fake(home=home, options=options)
    return run_drill("some", place, kills, directory=home / "drill")


def drawn(row: DriverRow) -> list[tuple[int, str]]:
    return [(bar.batch, bar.kind) for bar in row.bars]


def told(drilled: Drilled) -> dict[str, str]:
    return {each.check: each.told for each in drilled.checked if each.verdict.is_bad}


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="drills kill on Linux")


def test_a_sink_that_asks_what_is_there_passes(tmp_path: Path) -> None:
    kills = (Rename("before", "commits/1"), Rename("before", "commits/1"), Named("S1", 2))
    drilled = drill(tmp_path, *kills, options=["ledger"])
    assert (drilled.verdict, told(drilled)) == (DrillVerdict.PASS, {})


def test_a_sink_that_does_not_ask_doubles_a_batch(tmp_path: Path) -> None:
    drilled = drill(tmp_path, Rename("before", "commits/1"))
    assert drilled.verdict == DrillVerdict.FAIL
    assert told(drilled)["nothing-duplicated"] == "1 duplicated rows in file, after driver 2"


def test_a_kill_that_does_not_fire_is_told(tmp_path: Path) -> None:
    drilled = drill(tmp_path, Named("S9"), options=["ledger"])
    assert drilled.verdict == DrillVerdict.UNKNOWN
    assert told(drilled) == {
        "fired": "the kill at:S9:1 did not happen: driver 1 ended with exit code 0"
    }


def test_what_a_reader_sees_is_of_the_run_under_way(tmp_path: Path) -> None:
    place = Watched(home=tmp_path, options=["ledger"])
    drilled = run_drill(
        "some", place, [Named("S1", 1)], directory=tmp_path / "drill", reading=place.reading
    )
    events = History(drilled.directory).events()
    looks = [each for each in events if isinstance(each, Looked) and each.by == READER]
    assert [look.run for look in looks] == [1, 2]
    seen = "the reader saw during driver 2: 3 rows in file, not those of 4 parts"
    assert told(drilled) == {"complete-batches": seen}


def test_what_was_done_and_seen_is_drawn(tmp_path: Path) -> None:
    drilled = drill(tmp_path, Rename("before", "commits/1"), options=["ledger"])
    first, second = timeline_rows(History(drilled.directory).events())
    assert drawn(first) == [(0, "completed"), (1, "completed")]
    written = "the sink had written batch 1, Spark had not recorded it: no commits/1"
    assert (first.is_killed, first.ending) == (True, f"Killed: {written}.")
    assert drawn(second) == [(1, "skipped"), (2, "completed"), (3, "completed")]
    assert (second.is_killed, second.ending, second.epoch) == (False, "Ran to its end.", "3")


def test_a_driver_that_dies_in_a_batch_is_drawn_with_it(tmp_path: Path) -> None:
    drilled = drill(tmp_path, Named("S1", 2), options=["ledger"])
    first, _ = timeline_rows(History(drilled.directory).events())
    assert drawn(first) == [(0, "completed"), (1, "cut")]


def test_what_drills_showed_is_written_beside_them(tmp_path: Path) -> None:
    drilled = [drill(tmp_path, Rename("before", "commits/1"))]
    about = About(target="<app>", began=BEGAN, seed=7, command="holdfast drill run '<app>'")
    page = write_summary(about, drilled, directory=tmp_path).read_text()
    assert "&lt;app&gt;" in page
    assert "<app>" not in page
    for fact in ("2026-11-16 09:31 UTC", f"Holdfast {__version__}", "seed 7"):
        assert f"<span>{fact}</span>" in page
    assert "In 1 of 1 phases a restart duplicates 1 row." in page
    assert "the sink had written batch 1, Spark had not recorded it: no commits/1" in page
    written = msgspec.json.decode((tmp_path / RESULT).read_bytes(), type=SummaryJson)
    assert written == summarize(about, drilled)
    assert (written.verdict, written.drills[0].duplicated) == ("FAIL", 1)


def test_the_batches_of_a_stream_that_says_nothing_are_read_from_its_checkpoint(
    tmp_path: Path,
) -> None:
    """Batch 1 is planned by the first driver, begun again by the second, ended by the third."""
    kills = (Rename("before", "commits/1"), Rename("before", "commits/1"))
    drilled = drill(tmp_path, *kills, options=["plain"])
    rows = timeline_rows(History(drilled.directory).events())
    assert list(map(drawn, rows)) == [
        [(0, "completed"), (1, "cut")],
        [(1, "cut")],
        [(1, "repeated"), (2, "completed"), (3, "completed")],
    ]


def test_every_driver_is_logged_as_it_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "holdfast.drills")
    drill(tmp_path, Named("S1", 2), options=["ledger"])
    assert caplog.messages == [
        "some: driver 1 of 2, killed at at:S1:2",
        "some: driver 2 of 2, to the end",
    ]
