"""What a restart does to a pipeline that is written the way the web advises.

    python -m campaigns.restart_damage [--seed N] [--only NAME] [--format text|markdown]

Every row is a real run on real Kafka, PostgreSQL and Delta: killed with SIGKILL or reset, started
again, and its output compared row by row with what was sent. The last column is the same with a
guarded stream into PostgreSQL or, where the row is about Delta, into Delta: exact, or refused by
name with nothing written, and exact as soon as what was deleted is put back.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from campaigns.restart_damage.guarded import GuardedIntoDelta, GuardedIntoPostgres
from campaigns.restart_damage.runs import PER_BATCH, Run, Servers
from holdfast.drills.kill import Rename
from holdfast.proof.multiset import Difference
from lab import Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive


def kill_after_the_write(run: Run) -> None:
    """Kill when batch 2 is in the sink and its commit entry is not yet there; start again."""
    run.driver().run_until_killed(Rename("before", "commits/2"))
    run.restart()


def kill_inside_the_write(run: Run) -> None:
    """Kill when a part of batch 0 is written; start again."""
    run.kill_inside_the_write()
    run.restart()


def start_a_second_driver(run: Run) -> None:
    """Halt a driver inside batch 2, start a second on the same checkpoint, let the first go on."""
    with run.driver().start(run.inside_batch_2, strike=signal.SIGSTOP) as first:
        first.wait_until_halted()
        run.restart()
        first.resume()
        first.wait()


def reset_from_earliest(run: Run) -> None:
    """Delete the checkpoint and start from earliest."""
    run.driver().run_to_end()
    run.delete_checkpoint()
    run.restart()


def reset_with_larger_batches(run: Run) -> None:
    """Delete the checkpoint and start from earliest, with larger batches to catch up faster."""
    run.driver().run_to_end()
    run.delete_checkpoint()
    run.restart(per_batch=PER_BATCH * 5 // 2)


def reset_and_empty(run: Run) -> None:
    """Empty the table, delete the checkpoint and start from earliest."""
    run.driver().run_to_end()
    run.empty_table()
    run.delete_checkpoint()
    run.restart()


def reset_and_go_on(run: Run) -> None:
    """Delete the checkpoint and go on with new messages, from where the old run ended."""
    run.driver().run_to_end()
    run.delete_checkpoint()
    starting = run.next_offsets()
    run.send_messages()
    run.restart(starting=starting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One row of the table."""

    name: str
    sink: str
    written: str
    """How the stream writes."""
    happens: str
    """What happens to it before it is started again."""
    play: Callable[[Run], None]


SCENARIOS = (
    Scenario(
        name="jdbc-append-killed",
        sink="jdbc-append",
        written="JDBC append, batch id as a column",
        happens="killed after the write",
        play=kill_after_the_write,
    ),
    Scenario(
        name="jdbc-append-killed-inside",
        sink="jdbc-append",
        written="JDBC append, batch id as a column",
        happens="killed inside the write",
        play=kill_inside_the_write,
    ),
    Scenario(
        name="jdbc-append-two-drivers",
        sink="jdbc-append",
        written="JDBC append, batch id as a column",
        happens="a second driver on the checkpoint",
        play=start_a_second_driver,
    ),
    Scenario(
        name="jdbc-delete-insert-killed",
        sink="jdbc-delete-insert",
        written="JDBC delete by batch id, then insert",
        happens="killed after the write",
        play=kill_after_the_write,
    ),
    Scenario(
        name="jdbc-delete-insert-reset",
        sink="jdbc-delete-insert",
        written="JDBC delete by batch id, then insert",
        happens="checkpoint deleted, larger batches",
        play=reset_with_larger_batches,
    ),
    Scenario(
        name="jdbc-delete-insert-go-on",
        sink="jdbc-delete-insert",
        written="JDBC delete by batch id, then insert",
        happens="checkpoint deleted, new messages only",
        play=reset_and_go_on,
    ),
    Scenario(
        name="delta-native-killed",
        sink="delta-native",
        written="Delta, native sink",
        happens="killed after the write",
        play=kill_after_the_write,
    ),
    Scenario(
        name="delta-native-reset",
        sink="delta-native",
        written="Delta, native sink",
        happens="checkpoint deleted",
        play=reset_from_earliest,
    ),
    Scenario(
        name="delta-fixed-txn-reset",
        sink="delta-fixed-txn",
        written="Delta, fixed txnAppId",
        happens="table emptied, checkpoint deleted",
        play=reset_and_empty,
    ),
    Scenario(
        name="files-go-on",
        sink="files-native",
        written="Parquet file sink",
        happens="checkpoint deleted, new messages only",
        play=reset_and_go_on,
    ),
)


def play(scenario: Scenario, servers: Servers, *, seed: int) -> Difference:
    """Play one scenario and return how its output differs from what was sent."""
    with scratch_directory() as directory:
        run = Run(servers, scenario.name, sink=scenario.sink, seed=seed, directory=directory)
        scenario.play(run)
        return run.difference()


def play_guarded(scenario: Scenario, servers: Servers, *, seed: int) -> str:
    """Play the same with a guarded stream and say how it ended."""
    guarded = GuardedIntoDelta if scenario.sink.startswith("delta") else GuardedIntoPostgres
    with scratch_directory() as directory:
        run = guarded(servers, scenario.name, seed=seed, directory=directory)
        scenario.play(run)
        return run.told()


def text_row(scenario: Scenario, found: Difference, guarded: str) -> str:
    """Return a scenario's line of the table for a terminal."""
    return (
        f"{scenario.written:<38}{scenario.happens:<39}"
        f"{found.expected:>8,}{found.missing:>9,}{found.duplicated:>12,}  {guarded}"
    )


def markdown_row(scenario: Scenario, found: Difference, guarded: str) -> str:
    """Return a scenario's line of the table for the documentation."""
    figures = " | ".join(f"{each:,}" for each in (found.expected, found.missing, found.duplicated))
    return f"| {scenario.written} | {scenario.happens} | {figures} | {guarded} |"


HEADS = {
    "text": (
        f"{'written as':<38}{'then':<39}{'expected':>8}{'lost':>9}{'duplicated':>12}  with Holdfast"
    ),
    "markdown": (
        "| written as | then | rows expected | lost | duplicated | with Holdfast |"
        "\n|---|---|--:|--:|--:|---|"
    ),
}
ROWS = {"text": text_row, "markdown": markdown_row}


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Start what the scenarios need."""
    ensure_archive()
    with Kafka() as kafka, Postgres() as postgres, scratch_directory() as directory:
        spark = start_session(directory, {})
        yield Servers(kafka=kafka, postgres=postgres, spark=spark)
        spark.stop()


@click.command(help=__doc__)
@click.option("--seed", default=1, show_default=True, help="Of the messages.")
@click.option("--only", type=click.Choice([scenario.name for scenario in SCENARIOS]))
@click.option("--format", "form", type=click.Choice(list(ROWS)), default="text", show_default=True)
def main(seed: int, only: str | None, form: str) -> None:
    """Play the scenarios and print the table, row by row as they end."""
    click.echo(HEADS[form])
    with running_servers() as servers:
        for scenario in SCENARIOS:
            if only in (None, scenario.name):
                found = play(scenario, servers, seed=seed)
                guarded = play_guarded(scenario, servers, seed=seed)
                click.echo(ROWS[form](scenario, found, guarded))
    if form == "text":
        click.echo(f"Seed {seed}. Every row: a real SIGKILL or reset, then a restart.")
