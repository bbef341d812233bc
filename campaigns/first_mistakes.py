"""The mistakes that people make in their first stream, and what each of them prints.

    python -m campaigns.first_mistakes [--only NAME] [--lines N]

Every mistake is one edit of a program that works, run as a script. The table shows the first line
of the error, and how many lines of a traceback stand between its heading and the error. The error
must be one of Holdfast's, with its three sentences, and at most 5 lines may stand above it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import psycopg

from benchmarks.measuring import exit_when_missed
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

MOST_LINES = 5
SECONDS = 180
DSN = "MISTAKES_DSN"
PROGRAM = """\
import holdfast as hf
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.schema("id bigint, name string").json("IN")
query = hf.start(rows, stream="readings", root="ROOT", into=SINK, trigger={"availableNow": True})
query.awaitTermination()
"""
SINK = f'hf.Postgres("env:{DSN}", table="readings")'
TABLE = "CREATE TABLE readings (id bigint, name text)"
START_AGAIN = """\
query = hf.start(rows, stream="readings", root="ROOT", into=SINK)
query = hf.start(rows, stream="readings", root="ROOT", into=SINK)
"""
_ERROR = re.compile(r"holdfast\.[a-z_.]+\.([A-Za-z]+): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One edit of the program, or of what surrounds it."""

    code: str
    """The code of the error that must be raised."""
    edit: tuple[str, str] = ("", "")
    """What is replaced in the program, and by what."""
    sql: str = TABLE
    dsn: str = "{dsn}"
    settings: Mapping[str, str] | None = None
    """Of the session."""


def _sink(text: str, *, code: str = "CONFIG", settings: Mapping[str, str] | None = None) -> Mistake:
    return Mistake(code=code, edit=("SINK", text), settings=settings)


def _keyed(keys: str) -> str:
    return f'hf.Postgres("env:{DSN}", table="readings", keys={keys})'


MISTAKES: dict[str, Mistake] = {
    "the DSN's variable is not set": _sink('hf.Postgres("env:NO_SUCH_DSN", table="readings")'),
    "the DSN is in the code": _sink('hf.Postgres("postgresql://a:b@c/d", table="readings")'),
    "a JDBC URL as DSN": Mistake(
        code="SINK_UNREACHABLE", dsn="jdbc:postgresql://127.0.0.1:5432/db?user=a"
    ),
    "no server at the port": Mistake(
        code="SINK_UNREACHABLE", dsn="postgresql://app:secret@127.0.0.1:9/db"
    ),
    "a wrong password": Mistake(code="SINK_UNREACHABLE", dsn="{dsn} user=app password=wrong"),
    "no such database": Mistake(code="SINK_UNREACHABLE", dsn="{dsn} dbname=nowhere"),
    "no such table": Mistake(code="TABLE", sql="SELECT 1"),
    "a column is missing": Mistake(code="TABLE", sql="CREATE TABLE readings (id bigint)"),
    "a column of another type": Mistake(
        code="TABLE", sql="CREATE TABLE readings (id text, name text)"
    ),
    "no unique index for the keys": _sink(_keyed('["id"]'), code="TABLE"),
    "keys as a string": _sink(_keyed('"id"')),
    "keys that are no column": _sink(_keyed('["nr"]'), code="TABLE"),
    "the user may not write": Mistake(
        code="TABLE",
        sql=f"{TABLE}; CREATE SCHEMA holdfast; CREATE ROLE reader LOGIN PASSWORD 'r'; "
        "GRANT SELECT ON readings TO reader",
        dsn="{dsn} user=reader password=r",
    ),
    "into is the name of a table": _sink('"readings"'),
    "into is a function": _sink("print"),
    "trigger is a text": Mistake(
        code="CONFIG", edit=('trigger={"availableNow": True}', 'trigger="10 seconds"')
    ),
    "no root": Mistake(code="CONFIG", edit=('root="ROOT", ', "")),
    "a table that is read once": Mistake(code="CONFIG", edit=("readStream", "read")),
    "a name with capitals": Mistake(code="CONFIG", edit=('"readings", root', '"Readings", root')),
    "a name with a date": Mistake(
        code="CONFIG", edit=('"readings", root', '"readings-2026-11-16", root')
    ),
    "a misspelt nonce": Mistake(code="CONFIG", edit=("into=", 'accept="HF604", into=')),
    "the checkpoint of another stream": Mistake(
        code="SHARED_CHECKPOINT",
        edit=(
            "query.awaitTermination()",
            'query.awaitTermination()\nhf.start(rows, stream="others", root="ROOT", into=SINK, '
            'checkpoint="ROOT/readings")',
        ),
    ),
    "the cell is run again": Mistake(
        code="ALREADY_RUNNING", edit=("query.awaitTermination()", START_AGAIN)
    ),
    "Delta without its jar": _sink(
        'hf.Delta(path="ROOT/table")', code="DELTA_TABLE", settings={"spark.sql.extensions": ""}
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a script with a mistake printed."""

    above: int
    """Lines of the traceback above the message."""
    first: str
    """The first line of the message."""
    error: str
    """Its class."""
    text: str


def run(mistake: Mistake, *, home: Path, dsn: str) -> Shown:
    """Run a script with a mistake."""
    home.mkdir()
    (home / "in").mkdir()
    (home / "in/1.json").write_text('{"id": 1, "name": "a"}\n')
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(mistake.sql.encode())
    text = PROGRAM.replace(*mistake.edit) if mistake.edit[0] else PROGRAM
    for name, value in (("SINK", SINK), ("ROOT", str(home / "streams")), ("IN", str(home / "in"))):
        text = text.replace(name, value)
    program = home / "first.py"
    program.write_text(text)
    settings = environment(home / "spark", mistake.settings or {})
    ended = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, **settings, DSN: mistake.dsn.format(dsn=dsn)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return _read(ended.stderr)


def _read(stderr: str) -> Shown:
    _, _, trace = stderr.rpartition("Traceback (most recent call last):\n")
    lines = trace.splitlines()
    matched = [
        (number, found) for number, line in enumerate(lines) if (found := _ERROR.match(line))
    ]
    if not matched:
        return Shown(above=len(lines), first=(lines or [""])[-1], error="", text=stderr)
    number, found = matched[-1]
    return Shown(above=number, first=found[2], error=found[1], text="\n".join(lines[number:]))


def report(name: str, mistake: Mistake, shown: Shown) -> list[str]:
    """Print one row; return what is wrong with it."""
    print(f"| {name} | `{mistake.code}` | {shown.above} | {shown.first[:160]} |", flush=True)
    if not shown.error:
        return [f"{name}: not one of ours: {shown.text[-400:]}"]
    return [f"{name}: {shown.above} lines above"] if shown.above > MOST_LINES else []


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(MISTAKES)), multiple=True)
def main(*, only: tuple[str, ...]) -> None:
    """Make every mistake, and fail when one is not explained."""
    ensure_archive()
    missed: list[str] = []
    print("| mistake | code | lines above | first line |\n| --- | --- | --- | --- |")
    with Postgres() as postgres, scratch_directory() as scratch:
        for number, name in enumerate(only or MISTAKES):
            dsn = postgres.create_database(f"mistake_{number}")
            shown = run(MISTAKES[name], home=scratch / str(number), dsn=dsn)
            missed += report(name, MISTAKES[name], shown)
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
