"""What a client of Spark Connect, or a classic session, says of the streams of a directory.

python connect_answers.py VERB ADDRESS DIRECTORY    (without an address: a classic session)
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import holdfast as hf
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

APPENDED, LAKE, COUNTS = "appended", "lake", "counts"


def pipeline(home: str, *, is_changed: bool = False, has_random: bool = False) -> hf.Pipeline:
    """Declare the streams as the client of the campaign runs them."""
    declared = hf.Pipeline("answers", root=f"{home}/streams")

    def rows(session: SparkSession) -> DataFrame:
        source = session.readStream.schema("id long, k string").option("maxFilesPerTrigger", 1)
        return source.json(f"{home}/in")

    def appended(session: SparkSession) -> DataFrame:
        df = rows(session).select("id", f.concat("k", f.lit("")).alias("k"))
        return df.where(f.rand(7) >= 0) if has_random else df

    def counts(session: SparkSession) -> DataFrame:
        by = f.upper("k").alias("k") if is_changed else "k"
        return rows(session).groupBy(by).agg(f.count("*").alias("n"), f.sum("id").alias("total"))

    declared.stream(APPENDED, into=hf.Postgres("env:DSN", table=APPENDED))(appended)
    declared.stream(LAKE, into=hf.Delta(path=f"{home}/{LAKE}"))(rows)
    merged = hf.Postgres("env:DSN", table=COUNTS, keys=["k"])
    declared.stream(COUNTS, into=merged, outputMode="append" if is_changed else "update")(counts)
    return declared


def prove(spark: SparkSession, home: str, **declared: bool) -> dict[str, list[object]]:
    """Return the verdict, the faults and the reason of each table."""
    found: dict[str, list[object]] = {}
    for table in pipeline(home, **declared).prove(spark).tables:
        rows = table.compared
        faults = [] if rows is None else [rows.lost, rows.duplicated, rows.altered, rows.unexpected]
        found[table.stream] = [table.verdict.value, faults, table.reason]
    return found


def prove_random(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Return the same of a stream whose rows could be others."""
    return prove(spark, home, has_random=True)


def check(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Return what is found of code that has not changed, and of code that has."""
    return {
        f"{each.stream} {is_changed}": [sorted({one.code for one in each.findings}), each.unknown]
        for is_changed in (False, True)
        for each in pipeline(home, is_changed=is_changed).check(spark, only=[APPENDED, COUNTS])
    }


def check_plain(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Return what `hf.check` finds of the query without Holdfast."""
    df = pipeline(home).declared(APPENDED).build(spark)
    found = hf.check(df.writeStream.format("noop"), checkpoint=f"{home}/streams/{APPENDED}")
    return {"plain": [sorted({one.code for one in found.findings}), found.unknown]}


def guard(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Run the stream by its chain, to the end of its files."""
    df = pipeline(home).declared(APPENDED).build(spark)
    chain = df.writeStream.trigger(availableNow=True)
    into = hf.Postgres("env:DSN", table=APPENDED)
    query = hf.guard(chain, stream=APPENDED, into=into, root=f"{home}/streams").start()
    query.awaitTermination()
    return {"guard": [query.exception() is None]}


def unite(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Run two sources into one table; one of them has nothing yet."""
    schema = "id long, k string"
    rows = [
        spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(f"{home}/{each}")
        for each in ("in", "empty")
    ]
    into = hf.Postgres("env:DSN", table="united")
    df, root, trigger = rows[0].union(rows[1]), f"{home}/streams", {"availableNow": True}
    hf.start(df, stream="united", into=into, root=root, trigger=trigger).awaitTermination()
    return {}


def backfill(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Write the whole range again."""
    allow = [f"repeats-data:{APPENDED}"]
    done = hf.backfill(pipeline(home), spark, APPENDED, start=0, end=2, allow=allow)
    return {"backfill": [done.done, done.chunks]}


def reset(spark: SparkSession, home: str) -> dict[str, list[object]]:
    """Empty a Delta table by a reset, and take that back; return how many rows there were."""
    counts: list[object] = [rows_in(home)]
    plan = hf.plan_reset(LAKE, start="earliest", output="truncate", root=f"{home}/streams")
    assert isinstance(plan, hf.Plan)
    hf.rehearse_plan(plan, spark=spark)
    journal = hf.apply_plan(plan, allow=plan.words, spark=spark)
    counts.append(rows_in(home))
    undo = hf.plan_undo(journal, spark=spark)
    assert isinstance(undo, hf.Plan)
    hf.apply_plan(undo, allow=undo.words, spark=spark)
    counts.append(rows_in(home))
    return {"rows": counts}


def rows_in(home: str) -> int:
    """Return how many rows a reader without Spark finds in the Delta table."""
    there = DeltaTable(open_reader(parse_location(f"{home}/{LAKE}")))
    return Counter(there.read().rows).total()


VERBS: dict[str, Callable[[SparkSession, str], dict[str, list[object]]]] = {
    each.__name__: each
    for each in (prove, prove_random, check, check_plain, guard, unite, backfill, reset)
}

if __name__ == "__main__":
    verb, address, where = sys.argv[1:]
    builder = SparkSession.builder
    session = (builder.remote(address) if address else builder).getOrCreate()
    print(json.dumps(VERBS[verb](session, where)))
