"""What a store costs: through the session's Hadoop FileSystem and through obstore, side by side.

    python -m benchmarks.store_cost [--turns N] [--starts N]

Every store of the lab is asked in turns for the same: a listing of 100 and of 2,000 files, a file
of 700 bytes, a file that is created if it is absent, and one that is replaced. Then a guarded and a
bare start of one query take turns, each with its own checkpoint on that store; the time is that of
the call, and the query has nothing to do. The servers are on this machine: what differs is what
each client does, and the way to a real store is added to it.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
import psycopg
from pyspark.sql import DataFrame, SparkSession

from benchmarks.aged_stream import LATER, end, query_of, run_bare
from benchmarks.measuring import in_turns, spread
from holdfast.cli.table import columns
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.session import reader_of, writer_of
from holdfast.spark.classic.hadoop_files import HadoopReader
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer
from holdfast.streams.start import start
from lab import S3, Postgres
from lab.azurite import Azurite
from lab.hdfs import Hdfs
from lab.scratch import scratch_directory
from lab.spark import environment

SMALL, MANY = 100, 2_000
FILE = b"x" * 700
SESSION, OBSTORE, HTTP, DISK = "the session", "obstore", "WebHDFS", "the disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A place on one store, and who can reach it."""

    name: str
    root: str
    web_root: str = ""
    """The same place over HTTP."""

    def place(self, *parts: str) -> Location:
        """Return a location below its root."""
        return parse_location("/".join([self.root, *parts]))

    def readers(self, spark: SparkSession) -> dict[str, Reader]:
        """Return all ways to read it, by name."""
        ours = reader_of(spark, self.place())
        if self.name == "disk":
            return {DISK: ours}
        ways: dict[str, Reader] = {SESSION: HadoopReader(self.place(), spark)}
        return ways | ({HTTP: open_reader(self.web_root)} if self.web_root else {OBSTORE: ours})


@dataclass(slots=True)
class Costs:
    """Seconds of each action on one store, by way and action."""

    store: Store
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    guarded_s: list[float] = field(default_factory=list)
    bare_s: list[float] = field(default_factory=list)


def fill(writer: Writer) -> None:
    """Write the files that are listed and read."""
    for directory, files in (("small", SMALL), ("many", MANY)):
        for number in range(files):
            writer.put(f"{directory}/{number}", FILE)


def actions(ways: Mapping[str, Reader], writer: Writer) -> dict[tuple[str, str], Callable[[], Any]]:
    """Return everything that is timed: all ways read, one of them writes."""
    names = (f"new/{number}" for number in itertools.count())
    found: dict[tuple[str, str], Callable[[], Any]] = {}
    for way, reader in ways.items():
        found[way, f"list {SMALL}"] = partial(reader.list, "small")
        found[way, f"list {MANY:,}"] = partial(reader.list, "many")
        found[way, "read 700 B"] = partial(reader.read, "small/7")
    by = SESSION if isinstance(writer, HadoopReader) else list(ways)[-1]
    found[by, "create"] = lambda: writer.put_if_absent(next(names), FILE)
    found[by, "replace"] = lambda: writer.put("lease", FILE)
    return found


def time_starts(frame: DataFrame, costs: Costs, *, dsn: str, starts: int) -> None:
    """Start the query with the guard and without it, in turns; the first of each is not counted."""
    sink = PostgresSink(lambda: dsn, table="counts", keys=["value"], name=costs.store.name)
    given: dict[str, Any] = {"into": sink, "trigger": LATER, "outputMode": "update"}
    root, bare = f"{costs.store.root}/guarded", f"{costs.store.root}/bare"
    ways: dict[str, Callable[[], Any]] = {
        "guarded": lambda: start(
            frame, stream=f"on-{costs.store.name.lower()}", root=root, **given
        ),
        "bare": lambda: run_bare(frame, bare, LATER),
    }
    for number in range(starts + 1):
        for way, begin in ways.items():
            began = time.perf_counter()
            query = begin()
            took = time.perf_counter() - began
            end(query)
            if number:
                (costs.guarded_s if way == "guarded" else costs.bare_s).append(took)


def measure(spark: SparkSession, store: Store, *, turns: int) -> Costs:
    """Return what each action takes on a store."""
    writer = writer_of(spark, store.place())
    fill(writer)
    timed = actions(store.readers(spark), writer)
    keys = {"|".join(key): key for key in timed}
    in_turns({name: timed[key] for name, key in keys.items()}, 1)  # connections, and the JVM
    seconds = in_turns({name: timed[key] for name, key in keys.items()}, turns)
    return Costs(store, {keys[name]: each for name, each in seconds.items()})


def show(costs: list[Costs], *, turns: int, starts: int) -> None:
    """Print two tables: what is asked of a store, and starts."""
    kinds = list(dict.fromkeys(action for each in costs for _, action in each.seconds))
    rows = [("store", "through", *kinds)]
    for each in costs:
        for way in dict.fromkeys(way for way, _ in each.seconds):
            cells = (each.seconds.get((way, kind)) for kind in kinds)
            shown = (spread(cell).show(1, times=1e3) if cell else "-" for cell in cells)
            rows.append((each.store.name, way, *shown))
    print(f"Milliseconds, median (lowest to highest) of {turns}", *columns(rows), sep="\n  ")
    rows = [("store", "guarded start, s", "bare start, s", "more, s")]
    for each in costs:
        guarded, bare = spread(each.guarded_s), spread(each.bare_s)
        more = guarded.median - bare.median
        rows.append((each.store.name, guarded.show(2), bare.show(2), f"{more:.2f}"))
    print(f"{starts} starts each, in turns", *columns(rows), sep="\n  ")


def run(stack: ExitStack, home: Path, *, turns: int, starts: int) -> list[Costs]:
    """Start everything, and measure store by store."""
    postgres, s3 = stack.enter_context(Postgres()), stack.enter_context(S3())
    hdfs, azurite = stack.enter_context(Hdfs()), stack.enter_context(Azurite())
    stores = [
        Store(name="disk", root=str(home / "lake")),
        Store(name="S3", root="s3a://lake/cost"),
        Store(name="Azure", root=f"{azurite.root}/cost"),
        Store(name="HDFS", root=f"{hdfs.address}/cost", web_root=f"{hdfs.web_address}/cost"),
    ]
    settings = {**s3.spark_settings(), **hdfs.spark_settings(), **azurite.spark_settings()}
    os.environ.update(environment(home / "spark", settings, jvm=(), log_level="error"))
    spark = SparkSession.builder.getOrCreate()
    stack.callback(spark.stop)
    dsn = postgres.create_database("cost")
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE counts (value text PRIMARY KEY, count bigint)")
    (home / "in").mkdir()
    (home / "in/f0").write_text("row\n")
    found = []
    for store in stores:
        costs = measure(spark, store, turns=turns)
        time_starts(query_of(spark, home / "in"), costs, dsn=dsn, starts=starts)
        print(f"{store.name} is measured", flush=True)
        found.append(costs)
    return found


@click.command(help=__doc__)
@click.option("--turns", default=30, show_default=True)
@click.option("--starts", default=7, show_default=True)
def main(*, turns: int, starts: int) -> None:
    """Measure, and print."""
    with ExitStack() as stack, scratch_directory() as home:
        found = run(stack, home, turns=turns, starts=starts)
    show(found, turns=turns, starts=starts)


if __name__ == "__main__":
    main()
