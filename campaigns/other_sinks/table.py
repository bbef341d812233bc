"""What kills do to the sinks that Spark brings and that the web advises.

    python -m campaigns.other_sinks [--format text|markdown] [SINK]...

Every sink is drilled as `holdfast drill run` drills a stream of a user's: killed with SIGKILL in
the phases that can hurt it, in the first batch and in a later one, then started until it has read
all. Rows are counted against those of an undisturbed run; a reader looks five times a second.
Checkpoints that are deleted and second drivers are in `campaigns.restart_damage`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from campaigns.other_sinks import plain_streams
from campaigns.other_sinks.plain_readers import ROWS_PER_FILE, polling
from campaigns.other_sinks.plain_sinks import SINKS, Sink
from holdfast.drills.builtin.workload import write_files
from holdfast.drills.checks import READER, Past
from holdfast.drills.drill import Drilled
from holdfast.drills.history import History, Row
from holdfast.drills.user_stream import Target, drill_user_stream
from holdfast.proof.multiset import Difference, compare
from lab import Kafka, Postgres
from lab.jars import fetch_jars
from lab.mariadb import MariaDB
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

FILES = 8


@dataclass(slots=True, kw_only=True)
class Line:
    """A line of the table, as it comes about."""

    display_name: str
    kills: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    duplicated: dict[str, int] = field(default_factory=dict)
    """Rows by phases, where there are any."""
    stuck: dict[str, str] = field(default_factory=dict)
    """What the last start said, by phases."""
    partial: bool = False
    """Whether a reader saw a part of a batch."""


def line_of(sink: Sink, reader: str, drilled: Sequence[Drilled]) -> Line:
    """Return what the drills of a sink showed to one of its readers.

    Raises:
        AssertionError: A kill did not fire although the stream was not stuck: nothing was shown.
    """
    line = Line(display_name=sink.display_name[reader])
    for each in drilled:
        past = Past(History(each.directory))
        told = {check.check: check for check in each.checked}
        line.kills += sum(end.is_killed for end in past.ended.values())
        line.partial |= not all(map(sink.is_whole, _seen(past, reader)))
        if told["starts-again"].verdict.is_bad:
            line.stuck[each.name] = told["starts-again"].told
            continue
        assert not told["fired"].verdict.is_bad, told["fired"].told
        difference = _difference(past, reader)
        if difference.missing:
            line.lost[each.name] = difference.missing
        if difference.duplicated:
            line.duplicated[each.name] = difference.duplicated
    return line


def _difference(past: Past, reader: str) -> Difference:
    """Compare what a reader finds in the end with what it found after an undisturbed run."""
    (planned,) = past.planned.values()
    (last,) = past.last.values()
    contents = (past.content(digest) for digest in (planned.contents[-1], last.content))
    found = compare(*([row for row in rows if row[0] == reader] for rows in contents))
    assert not found.foreign, found
    return found


def _seen(past: Past, reader: str) -> Iterator[list[Row]]:
    looks = {each.content for each in past.looks if (each.by, each.sink) == (READER, reader)}
    assert looks, "nobody looked"
    return map(past.content, looks)


def drill(sink: Sink, directory: Path, *, only: Sequence[str] = ()) -> list[Drilled]:
    """Drill one sink, in all of its phases or in some."""
    module = plain_streams.__name__
    target = Target(
        start=f"{module}:{sink.name}",
        sample=write_sample(directory / "sample"),
        read=sink.read and f"{module}:{sink.read}",
    )
    drilled = drill_user_stream(
        target,
        directory=directory,
        only=only or [*sink.only, *(phase.name for phase in sink.also)],
        also=sink.also,
        reader=partial(polling, sink.look),
    )
    return list(drilled)


def write_sample(directory: Path) -> Path:
    """Write the source, one file per batch."""
    write_files(
        directory,
        files=FILES,
        rows_per_file=ROWS_PER_FILE,
        line="row-{:06}".format,
        ending=".txt",
    )
    return directory


def text_row(line: Line) -> str:
    """Return a line for a terminal."""
    seen = "yes" if line.partial else "no"
    figures = (_worst(found) for found in (line.lost, line.duplicated))
    lines = [f"{line.display_name:<52}{line.kills:>5}" + "".join(f"{each:>6}" for each in figures)]
    lines[0] += f"{len(line.stuck):>6}  {seen}"
    for what in ("lost", "duplicated"):
        lines += [f"    {rows} {what}: {phase}" for phase, rows in getattr(line, what).items()]
    return "\n".join([*lines, *(f"    {phase}: {told}" for phase, told in line.stuck.items())])


def markdown_row(line: Line) -> str:
    """Return a line for the README."""
    cells = [line.display_name, str(line.kills)]
    cells += [_by_rows(found) for found in (line.lost, line.duplicated)]
    cells.append(", ".join(f"`{phase}`" for phase in line.stuck) or "no")
    return f"| {' | '.join([*cells, 'yes' if line.partial else 'no'])} |"


def _worst(found: dict[str, int]) -> str:
    return f"{max(found.values(), default=0):,}"


def _by_rows(found: dict[str, int]) -> str:
    """Return how many rows after which kills, the most first."""
    phases = {rows: [each for each in found if found[each] == rows] for rows in found.values()}
    told = (
        f"{rows:,}: {', '.join(f'`{phase}`' for phase in phases[rows])}"
        for rows in sorted(phases, reverse=True)
    )
    return "; ".join(told) or "0"


HEADS = {
    "text": f"{'written as':<52}{'kills':>5}{'lost':>6}{'twice':>6}{'stuck':>6}  a part was seen",
    "markdown": (
        "| written as | kills | rows lost | rows duplicated | stuck | a reader saw a part of a "
        "batch |\n|---|--:|---|---|---|---|"
    ),
}
ROWS = {"text": text_row, "markdown": markdown_row}


@contextmanager
def servers(directory: Path) -> Iterator[None]:
    """Start what the sinks need, and name it in the environment."""
    ensure_archive()
    mysql = {"spark.jars": ",".join(map(str, fetch_jars("jdbc-mysql")))}
    with Kafka() as kafka, Postgres() as postgres, MariaDB() as mariadb:
        os.environ |= {
            **environment(directory, mysql),
            plain_streams.DSN: postgres.create_database("plain"),
            plain_streams.JDBC: postgres.jdbc_url("plain"),
            plain_streams.KAFKA: kafka.address,
            plain_streams.MARIADB: str(mariadb.port),
        }
        yield


@click.command(help=__doc__)
@click.argument("names", metavar="[SINK]...", nargs=-1, type=click.Choice(list(SINKS)))
@click.option("--only", multiple=True, metavar="PHASE", help="This phase alone. Can be repeated.")
@click.option("--format", "form", type=click.Choice(list(ROWS)), default="text", show_default=True)
def main(names: Sequence[str], only: Sequence[str], form: str) -> None:
    """Drill the sinks and print the table, line by line as they end."""
    click.echo(HEADS[form])
    with scratch_directory() as directory, servers(directory / "spark"):
        for name in names or SINKS:
            drilled = drill(SINKS[name], directory / name, only=only)
            for reader in SINKS[name].display_name:
                click.echo(ROWS[form](line_of(SINKS[name], reader, drilled)))
