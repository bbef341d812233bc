"""Every state that a crash can leave behind: a real run's files, cut after each operation.

    python -m campaigns.crash_states [NAME=FILES]... [--states N] [--seed N]

Built-in guarded streams run once, and what they do to their files is written down. Then, for every
number of operations, files and table are made as a crash leaves them there; in PostgreSQL, between
`offsets/N` and `commits/N`, once with the batch in the table and once without. From each the stream
is started, over what it had planned and one file more, and the table is compared row by row. From
states without `offsets/0` it is started by Spark alone, too. A session is used for some hundred
states: Spark keeps in memory what it made for queries that are over.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import click
from pyspark.sql import SparkSession

from campaigns.crash_states.recordings import Recording, State, find_states, record
from holdfast.drills.builtin.cells import BUILTIN
from holdfast.drills.builtin.places import DSN_NAME
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment, start_session
from lab.warm_up import ensure_archive

FILES = {
    "postgres-append": 100,
    "postgres-merge": 50,
    "postgres-counts-rocksdb": 15,
    "postgres-counts-rocksdb2": 15,
    "delta-append": 2,
}
DATABASE = "crash"
FILES_MORE = 1
"""Beyond what was planned: the stream must go on too, and a state costs the same wherever it is."""
AT_ONCE = 2
"""Recordings that are replayed at the same time."""
STATES_PER_SESSION = 200
_FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class Result:
    """What the states of one recording showed."""

    name: str
    replayed: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    first_batch: int = 0
    """States without `offsets/0`, from which Spark alone was started as well."""
    stuck: Counter[str] = field(default_factory=Counter)
    """Of those that it did not start from: by what it said."""

    def add(self, other: Result) -> None:
        """Count what a part of the states showed."""
        self.replayed += other.replayed
        self.seconds += other.seconds
        self.wrong += other.wrong
        self.first_batch += other.first_batch
        self.stuck += other.stuck

    def __str__(self) -> str:
        """Say it in one line."""
        each = self.seconds / max(self.replayed, 1)
        stuck = ", ".join(f"{count} {error}" for error, count in self.stuck.items()) or "0"
        return (
            f"{self.name}: {self.replayed} states, {len(self.wrong)} wrong, {each:.2f} s each;"
            f" Spark alone is stuck in {stuck} of {self.first_batch} before the first batch"
        )


def replay(session: SparkSession, recording: Recording, state: State) -> str | None:
    """Start from one state; return what is wrong afterwards."""
    recording.restore(state)
    files = recording.show(state.progress.sources + FILES_MORE)
    try:
        recording.go_on(session)
    except Exception as error:  # noqa: BLE001 - whatever it is, the stream does not start again
        return f"{recording.name} {state}: stuck: {error}"
    wrong = recording.judge(files)
    return f"{recording.name} {state}: {wrong}" if wrong else None


def find_stuck(session: SparkSession, recording: Recording, state: State) -> str | None:
    """Start from one state without the guard; return the error that it ends with."""
    recording.restore(state)
    recording.show(state.progress.sources + FILES_MORE)
    return recording.start_plain(session)


def replay_all(session: SparkSession, recording: Recording, states: Sequence[State]) -> Result:
    """Start from each of the states, and count."""
    result = Result(recording.name)
    began = time.perf_counter()
    for state in states:
        if not state.progress.offsets:
            result.first_batch += 1
            if error := find_stuck(session, recording, state):
                result.stuck[error] += 1
        result.replayed += 1
        if wrong := replay(session, recording, state):
            result.wrong.append(wrong)
            click.echo(wrong)
    result.seconds = time.perf_counter() - began
    return result


Replaying = Callable[[Recording, Sequence[State]], Result]
"""Starts from each of the states of a recording."""


def draw(
    recordings: Sequence[Recording], states: int | None, seed: int
) -> Iterator[tuple[Recording, Sequence[State]]]:
    """Yield the states of each recording: all, or its part of so many drawn by the seed."""
    every = [
        (each, state) for each in recordings for state in find_states(each.operations, each.sink)
    ]
    wanted = len(every) if states is None else min(states, len(every))
    drawn = set(random.Random(seed).sample(range(len(every)), wanted))  # noqa: S311
    click.echo(f"seed {seed}: {wanted} of {len(every)} states")
    for recording in recordings:
        chosen = (every[at] for at in sorted(drawn))
        yield recording, [state for its, state in chosen if its is recording]


def run(
    replaying: Replaying, recordings: Sequence[Recording], *, states: int | None, seed: int
) -> Sequence[Result]:
    """Replay the states of all recordings, two recordings at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        going = [
            pool.submit(replaying, recording, chosen)
            for recording, chosen in draw(recordings, states, seed)
        ]
        return [each.result() for each in going]


def in_one_session(spark: SparkSession) -> Replaying:
    """Return what replays states in this process: some hundred, no more."""
    return lambda recording, states: replay_all(spark.newSession(), recording, states)


def _replay_parts(scratch: Path, recording: Recording, states: Sequence[State]) -> Result:
    """Replay states in processes, one after the other, with a session each; none is here."""
    whole = Result(recording.name)
    for start in range(0, len(states), STATES_PER_SESSION):
        part = states[start : start + STATES_PER_SESSION]
        receiver, sender = _FORK.Pipe(duplex=False)
        process = _FORK.Process(
            target=partial(_replay_part, scratch, recording, part, sender=sender)
        )
        process.start()
        sender.close()
        whole.add(receiver.recv())
        process.join()
        click.echo(f"{start + len(part)} of {len(states)}: {whole}")
    return whole


def _replay_part(
    scratch: Path, recording: Recording, states: Sequence[State], *, sender: Connection
) -> None:
    spark = start_session(scratch / f"session-{os.getpid()}", {})
    sender.send(replay_all(spark, recording, states))
    spark.stop()


def _read_files(_: object, __: object, given: Sequence[str]) -> dict[str, int]:
    pairs = [each.partition("=") for each in given]
    if unknown := [name for name, _, files in pairs if name not in BUILTIN or not files.isdigit()]:
        raise click.BadParameter(f"{', '.join(unknown)}; streams are {', '.join(BUILTIN)}")
    return {name: int(files) for name, _, files in pairs} or FILES


@click.command(help=__doc__)
@click.argument("files", nargs=-1, metavar="[NAME=FILES]...", callback=_read_files)
@click.option("--states", type=int, help="So many, drawn by the seed; by default all.")
@click.option("--seed", default=1, show_default=True)
def main(files: dict[str, int], states: int | None, seed: int) -> None:
    """Replay, and end with 1 when a state lost or duplicated a row, or the stream did not start."""
    ensure_archive()
    with Postgres() as server, scratch_directory() as scratch:
        os.environ[DSN_NAME] = server.create_database(DATABASE)
        os.environ.update(environment(scratch / "recorded", {}))
        recordings = record(scratch, files=files)
        began = time.perf_counter()
        results = run(partial(_replay_parts, scratch), recordings, states=states, seed=seed)
        seconds = time.perf_counter() - began
    replayed = sum(each.replayed for each in results)
    wrong = sum(len(each.wrong) for each in results)
    click.echo(
        f"seed {seed}: {wrong} of {replayed} states lost or duplicated rows or did not start,"
        f" {seconds / replayed:.2f} s each; at 95 % fewer than {3 / replayed:.2%} fail (3/n)"
    )
    sys.exit(1 if wrong else 0)
