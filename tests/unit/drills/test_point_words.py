from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills.phases import ALL, Phase
from holdfast.drills.point_words import describe_kill, describe_last


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("after:offsets/3:1", "batch 3 was planned in offsets/3, the sink was not called"),
        ("before:offsets/0:1", "batch 0 was not planned yet: no offsets/0"),
        (
            "before:commits/3:1",
            "the sink had written batch 3, Spark had not recorded it: no commits/3",
        ),
        (
            "before:00000000000000000007.json:1",
            "the data files were written, commit 7 of the Delta table was not",
        ),
        ("after:sources/0/5.compact:1", "entry 5 of the source log was written, the batch was"),
        ("at:S6:3", "the sink had committed the batch, Spark did not know it yet"),
        ("at:deleted:1", "at the point deleted"),
        ("before-send:COMMIT:3", "before COMMIT was sent"),
        ("after-delete:commits/3:1", "after commits/3 was deleted"),
        ("after:_spark_metadata/3:1", "after _spark_metadata/3 appeared"),
        ("PUT s3://lake", "at PUT s3://lake"),
    ],
)
def test_a_kill_is_said_in_words(point: str, words: str) -> None:
    assert describe_kill(point).startswith(words)


@pytest.mark.parametrize("phase", ALL, ids=[phase.name for phase in ALL])
def test_every_phase_has_words_of_its_own(phase: Phase) -> None:
    for kill in phase.kills:
        assert "appeared" not in describe_kill(str(kill))
        assert not describe_kill(str(kill)).startswith("at ")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (
            [(1.0, "entry=checkpoint/offsets/3"), (2.0, "spark=4.2.0")],
            "Batch 3 had been running for 9 s.",
        ),
        (
            [(1.0, "entry=checkpoint/offsets/3"), (4.0, "entry=checkpoint/commits/3")],
            "Batch 3 had ended 6 s before.",
        ),
        ([(1.0, "epoch=1"), (2.0, "batch=0"), (2.0, "S1")], "Batch 0 had been running for 8 s."),
        ([(1.0, "streams-started")], "The stream was started, and no batch had begun."),
        ([(1.0, "spark=4.2.0")], "The stream was not started yet. Its log ends: resolving jars"),
    ],
)
def test_what_a_driver_did_last_is_said(
    tmp_path: Path, points: list[tuple[float, str]], words: str
) -> None:
    log = tmp_path / "run.log"
    log.write_text("hello\nresolving jars\n\n")
    assert describe_last(points, log=log, at=10.0) == words


def test_without_a_log_nothing_is_made_up(tmp_path: Path) -> None:
    said = describe_last([], log=tmp_path / "no.log", at=10.0)
    assert said == "The stream was not started yet."
