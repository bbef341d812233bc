"""Runs trials one after the other in one Spark session; what is done is kept and not done again."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from campaigns.damages.choosing import choose, enumerate_damages
from campaigns.damages.damage import Damage
from campaigns.damages.streams import SHAPES, Stream
from campaigns.damages.trial import Trial, damaged_copy, say, try_damage
from lab import Kafka
from lab.spark import start_session

_DONE = "trials.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is tried, and where its results are kept."""

    place: Path
    streams: Sequence[str]
    count: int
    """Damages of each stream."""
    seed: int
    hows: Collection[str] = ()
    """Kinds of damage; all when empty."""
    only: str = ""
    """A part of the paths that are damaged; all when empty."""

    @property
    def done(self) -> dict[str, Trial]:
        """The trials that an earlier run has finished, by their names."""
        path = self.place / _DONE
        lines = path.read_bytes().splitlines() if path.exists() else []
        trials = [msgspec.json.decode(line, type=Trial) for line in lines]
        return {each.name: each for each in trials}

    def keep(self, trial: Trial) -> None:
        """Write down a trial."""
        with (self.place / _DONE).open("ab") as file:
            file.write(msgspec.json.encode(trial) + b"\n")

    def chosen(self, checkpoint: Path) -> list[Damage]:
        """Return the damages of one checkpoint."""
        found = enumerate_damages(checkpoint)
        of_kind = [
            each
            for each in found
            if (not self.hows or each.how in self.hows) and self.only in each.path
        ]
        return choose(of_kind, self.count, seed=self.seed)


@contextmanager
def made(sweep: Sweep) -> Iterator[list[Stream]]:
    """Give the streams with their undamaged checkpoints, in one session."""
    with ExitStack() as servers:
        kafka = servers.enter_context(Kafka()) if "kafka" in sweep.streams else None
        spark = start_session(sweep.place / "spark", {})
        spark.sparkContext.setLogLevel("OFF")  # every failure would be there with its stack
        streams = [
            Stream(
                name=name,
                spark=spark,
                place=sweep.place / name,
                kafka=kafka if name == "kafka" else None,
            )
            for name in SHAPES
            if name in sweep.streams
        ]
        for each in streams:
            each.make()
        yield streams


def run(sweep: Sweep) -> Iterator[Trial]:
    """Yield every trial: those of earlier runs, then those that are left."""
    done = sweep.done
    yield from done.values()
    with made(sweep) as streams:
        for stream in streams:
            left = [
                each
                for each in sweep.chosen(stream.checkpoint)
                if f"{stream.name}|{each.name}" not in done
            ]
            for trial in _run_stream(stream, left):
                sweep.keep(trial)
                yield trial


def _run_stream(stream: Stream, damages: Sequence[Damage]) -> Iterator[Trial]:
    if not damages:
        return
    copy = stream.place / "copy-undamaged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(stream.checkpoint, copy)
    undamaged = stream.start(copy)
    assert not undamaged.error, undamaged.error
    for number, damage in enumerate(damages):
        # A directory of its own: Spark keeps what it knows of a state store by its path.
        copy = stream.place / f"copy-{number}"
        if damaged_copy(stream.checkpoint, damage, copy):
            yield try_damage(
                stream.name, damage, copy=copy, expected=undamaged.rows, start=stream.start
            )
        shutil.rmtree(copy, ignore_errors=True)


def judge_again(sweep: Sweep) -> Iterator[Trial]:
    """Diagnose every damage of an earlier run again, and take what Spark did from that run."""
    done = sweep.done
    for name in sweep.streams:
        checkpoint = sweep.place / name / "checkpoint"
        known = {f"{name}|{each.name}": each for each in enumerate_damages(checkpoint)}
        for trial in done.values():
            damage = known.get(trial.name)
            if damage is None:
                continue
            copy = sweep.place / name / "copy-again"
            damaged_copy(checkpoint, damage, copy)
            plain, deep = say(copy, deep=False), say(copy, deep=True)
            yield msgspec.structs.replace(trial, plain=plain, deep=deep)
            shutil.rmtree(copy)
