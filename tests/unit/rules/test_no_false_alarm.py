"""Checkpoints that nothing is wrong with: no rule finds more than a note in them.

What a kill leaves is nothing wrong either. There the pending batch is found, and no more.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.checkpoint.layout import parse_name
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.overview import overview_of
from holdfast.grades import Severity
from holdfast.rules import Finding
from holdfast.spark_versions import SUPPORTED
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in
from tests.unit.checkpoint.archives import ARCHIVES, open_archive
from tests.unit.evidence.damaged import Damage, every, remove, write

PENDING = "pending-batch"
BEGAN = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
TEMP = "3b1e0000-0000-4000-8000-000000000000.tmp"
SECOND = "4b1e0000-0000-4000-8000-000000000000.tmp"
"""Of a second kill, ten minutes later."""


def times_of(storage: MemoryStorage) -> dict[str, datetime]:
    """Return when each log entry would have been written: five seconds for each batch."""
    found = {}
    for path in storage.files:
        name = parse_name(path)
        number = re.match(r"\d+", name.target or "")
        batch = name.batch_id if name.batch_id is not None else int(number[0]) if number else 0
        late = 3 if path.startswith("commits/") else 0
        late += 600 if SECOND in path else 0
        if path.startswith(("offsets/", "commits/")):
            found[path] = BEGAN + timedelta(seconds=5 * batch + late)
    return found


def above_note(storage: MemoryStorage) -> list[Finding]:
    overview = overview_of(collect(storage))
    case = Case(checkpoint=overview.checkpoint, overview=overview, times=times_of(storage))
    found = [each for each in findings_in(case) if each.severity is not Severity.NOTE]
    is_pending = isinstance(overview.next_start, RunsAgain)
    assert [each.name for each in found].count(PENDING) == is_pending
    return [each for each in found if each.name != PENDING]


@pytest.mark.parametrize("archive", ARCHIVES)
def test_what_spark_left_is_fine(archive: str) -> None:
    assert above_note(open_archive(archive).checkpoint) == []


KILLS: dict[str, Damage] = {
    "before the offset entry is renamed": every(
        remove("offsets/5", "commits/5", "state/0/?/6.*"),
        write(f"offsets/.5.{TEMP}", b""),
    ),
    "after the source's log, before the offset entry": every(
        remove("offsets/5", "commits/5", "state/0/?/6.*")
    ),
    "after the offset entry": remove("commits/5", "state/0/?/6.*"),
    "when some partitions have written their state": remove("commits/5", "state/0/0/6.*"),
    "while a state file is written": every(
        remove("commits/5", "state/0/?/6.*"), write(f"state/0/0/.6.delta.{TEMP}", b"x")
    ),
    "after the sink was written": remove("commits/5"),
    "before the commit entry is renamed": every(
        remove("commits/5"), write(f"commits/.5.{TEMP}", b"")
    ),
    "twice, before the commit entry is renamed": every(
        remove("commits/5"), write(f"commits/.5.{TEMP}", b""), write(f"commits/.5.{SECOND}", b"")
    ),
}


@pytest.mark.parametrize("kill", KILLS.values(), ids=list(KILLS))
@pytest.mark.parametrize("version", SUPPORTED)
def test_what_a_kill_leaves_is_fine(version: str, kill: Damage) -> None:
    files = dict(open_archive(f"{version}-aggregation").checkpoint.files)
    kill(files)
    assert above_note(MemoryStorage(files)) == []
