"""A sample of damages on real Spark: what `diagnose` calls safe ends as an undamaged run does.

`python -m campaigns.damages` runs thousands; the seed is the gate's. Stateful streams, and Kafka,
are there alone: the sample has to be cheap.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.damages.choosing import choose, enumerate_damages
from campaigns.damages.damage import Checksum, Damage
from campaigns.damages.report import is_wrong
from campaigns.damages.streams import Restarted, Stream
from campaigns.damages.trial import Trial, damaged_copy, say, try_damage
from holdfast.judgement.judge import Verdict

SAMPLED = 10
KNOWN = {
    "one bit of a source's log": Damage(path="sources/0/4", how="flip-digit"),
    "a name that Java reads as a number": Damage(path="offsets/0006", how="new-file"),
    "a directory where the next offset entry goes": Damage(path="offsets/6", how="new-directory"),
    "a directory where the next commit entry goes": Damage(path="commits/6", how="new-directory"),
    "a directory where the source's next entry goes": Damage(
        path="sources/0/6", how="new-directory"
    ),
    "a compact file of another number": Damage(
        path="sources/0/1", how="copy", other="sources/0/1.compact"
    ),
    "two entries swapped with their checksums": Damage(
        path="offsets/4", how="swap", other="offsets/5", checksum=Checksum.GONE
    ),
}


@dataclass(frozen=True)
class Bench:
    """A stream, and what a start of its undamaged checkpoint did."""

    stream: Stream
    undamaged: Restarted

    def damage(self, damage: Damage, copy: Path) -> Trial | None:
        """Try a damage; None when it changes nothing."""
        if not damaged_copy(self.stream.checkpoint, damage, copy):
            return None
        expected, start = self.undamaged.rows, self.stream.start
        return try_damage("files", damage, copy=copy, expected=expected, start=start)


@pytest.fixture(scope="module")
def bench(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    stream = Stream(name="files", spark=spark, place=tmp_path_factory.mktemp("damages"))
    stream.make()
    copy = stream.place / "undamaged"
    shutil.copytree(stream.checkpoint, copy)
    assert say(copy, deep=True).verdict is Verdict.SAFE
    undamaged = stream.start(copy)
    assert not undamaged.error
    return Bench(stream=stream, undamaged=undamaged)


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_called_safe_before_is_not(name: str, bench: Bench, tmp_path: Path) -> None:
    trial = bench.damage(KNOWN[name], tmp_path / "copy")
    assert trial is not None
    assert trial.judge(trial.plain) == trial.judge(trial.deep) == "warned and right", trial


def test_safe_is_never_wrong(seed: int, bench: Bench, tmp_path: Path) -> None:
    damages = choose(enumerate_damages(bench.stream.checkpoint), SAMPLED, seed=seed)
    trials = [bench.damage(each, tmp_path / str(n)) for n, each in enumerate(damages)]
    found = [each for each in trials if each is not None]
    assert len(found) > SAMPLED // 2
    assert [each for each in found if is_wrong(each)] == []
