"""Every state that a crash can leave behind: a real run's files, cut after each operation.

    python -m benchmarks.crash_states [--files N] [--states N] [--seed N]

A guarded stream into PostgreSQL runs once, and what it does to its files is written down. Then, for
every number of operations, files and table are made as a crash leaves them there; between
`offsets/N` and `commits/N` once with the batch in the table and once without. From each the stream
is started in one session, runs to its end, and the table is compared row by row.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import psycopg
from pyspark.sql import SparkSession

from benchmarks import guarded_files
from holdfast.drills.kill import Driver
from holdfast.drills.kill.trace import Operation, make_state, read_trace
from holdfast.ledger.postgres import ensure_tables
from holdfast.proof.multiset import Difference, compare
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment, start_session
from lab.warm_up import ensure_archive

FILES = 30
ROWS_PER_FILE = 20
DATABASE = "crash"
_SET_UP = """\
CREATE TABLE readings (value text);
CREATE TABLE versions (number serial, was holdfast.ledger);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO versions (was) VALUES (NEW); RETURN NEW; END $$;
CREATE TRIGGER keep AFTER INSERT OR UPDATE ON holdfast.ledger FOR EACH ROW EXECUTE FUNCTION keep();
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a crash leaves behind."""

    done: int
    """Operations."""
    batches: int | None
    """In the table; None while the ledger has no row of the stream."""


def find_states(operations: Sequence[Operation]) -> Iterator[State]:
    """Yield every state, in the order of the run."""
    offsets = commits = 0
    is_open = may_be_open = False
    for done in range(len(operations) + 1):
        if done:
            path = str(operations[done - 1].path)
            offsets += bool(re.search(r"/readings/offsets/[0-9]+$", path))
            commits += bool(re.search(r"/readings/commits/[0-9]+$", path))
            may_be_open |= "/contracts/" in path
            is_open |= "/runs/" in path or offsets > 0
        if not is_open:
            yield State(done=done, batches=None)
        if is_open or may_be_open:
            yield State(done=done, batches=commits)
        if offsets > commits:
            yield State(done=done, batches=commits + 1)


class Replay:
    """A recorded run, whose states are made again and again at the same place."""

    def __init__(self, home: Path, dsn: str, files: int) -> None:
        self.live = home / "live"
        self.dsn = dsn
        self.files = home / "files"
        self.rows = [
            [f"row {number * ROWS_PER_FILE + row}" for row in range(ROWS_PER_FILE)]
            for number in range(files)
        ]
        self.files.mkdir(parents=True)
        for number, rows in enumerate(self.rows):
            path = self.files / f"f{number:05}"
            path.write_text("".join(f"{row}\n" for row in rows))
            os.utime(path, (1_700_000_000 + number,) * 2)
        with psycopg.connect(dsn) as connection:
            ensure_tables(connection)
            connection.execute(_SET_UP.encode())

    def record(self, home: Path) -> list[Operation]:
        """Run the stream once, and return what it did to its files."""
        settings = {**environment(home / "spark", {}), "READINGS_DSN": self.dsn}
        program = [guarded_files.__file__, str(self.files), str(self.live)]
        driver = Driver(program, environment=settings, directory=home / "runs")
        driver.run_traced(home / "trace")
        assert self.difference().exact
        return read_trace(home / "trace", below=self.live)

    def restore(self, operations: Sequence[Operation], state: State) -> None:
        """Make files, table and ledger as the crash has left them."""
        shutil.rmtree(self.live, ignore_errors=True)
        make_state(operations, state.done)
        rows = [row for each in self.rows[: state.batches or 0] for row in each]
        with psycopg.connect(self.dsn) as connection:
            connection.execute("TRUNCATE readings, holdfast.ledger, holdfast.history")
            with connection.cursor().copy("COPY readings FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([row])
            connection.execute("ALTER TABLE holdfast.ledger DISABLE TRIGGER keep")
            if state.batches is not None:
                query = (
                    "INSERT INTO holdfast.ledger SELECT (was).* FROM versions"
                    " WHERE (was).last_batch = %s ORDER BY number DESC LIMIT 1"
                )
                connection.execute(query, [state.batches - 1])

    def go_on(self, spark: SparkSession) -> None:
        """Start the stream, and let it run to its end."""
        guarded_files.run(spark, str(self.files), str(self.live), dsn=lambda: self.dsn)

    def difference(self) -> Difference:
        """Compare the table with everything there is in the files."""
        with psycopg.connect(self.dsn) as connection:
            found = [row[0] for row in connection.execute("SELECT value FROM readings")]
        return compare((row for each in self.rows for row in each), found)


def run(home: Path, dsn: str, *, files: int, states: int | None, seed: int) -> Iterator[str]:
    """Replay the states, or so many drawn by the seed; yield what was wrong with any."""
    replay = Replay(home, dsn, files)
    operations = replay.record(home)
    every = list(find_states(operations))
    chosen = every
    if states is not None and states < len(every):
        drawn = random.Random(seed).sample(range(len(every)), states)  # noqa: S311
        chosen = [every[at] for at in sorted(drawn)]
    click.echo(f"{len(operations)} operations, {len(every)} states, {len(chosen)} replayed")
    spark = start_session(home / "session", {})
    began = time.perf_counter()
    for state in chosen:
        replay.restore(operations, state)
        replay.go_on(spark)
        found = replay.difference()
        if not found.exact:
            yield f"{state}: {found}"
    seconds = (time.perf_counter() - began) / len(chosen)
    click.echo(f"{seconds:.2f} s per state; at 95 % fewer than {3 / len(chosen):.2%} fail (3/n)")
    spark.stop()


@click.command(help=__doc__)
@click.option("--files", default=FILES, show_default=True, help="Batches of the recorded run.")
@click.option("--states", type=int, help="So many, drawn by the seed; by default all.")
@click.option("--seed", default=1, show_default=True)
def main(files: int, states: int | None, seed: int) -> None:
    """Replay, and end with 1 when a state lost or doubled a row."""
    ensure_archive()
    with Postgres() as server, scratch_directory() as scratch:
        dsn = server.create_database(DATABASE)
        wrong = list(run(scratch, dsn, files=files, states=states, seed=seed))
    for each in wrong:
        click.echo(each)
    click.echo(f"seed {seed}: {len(wrong)} states lost or doubled rows")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
