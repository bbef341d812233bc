"""How many requests a guarded start on S3 makes, and how long it takes beside a bare one.

    python -m benchmarks.start_requests [--quick] [--starts N] [--where]

Checkpoint and record are on the lab's S3, grown in one direction at a time: state objects, batches
kept, past starts. A proxy in front of the server counts every request; the clients of Holdfast and
of Spark give different names. Guarded and bare starts of one query take turns on the same
checkpoint, both through the proxy; the query has nothing to do. The time is that of the call.
A heartbeat is what Holdfast asks for between two writings of its lease.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs

import click
from pyspark.sql import SparkSession

from benchmarks.aged_stream import (
    SECONDS,
    Age,
    AgedStream,
    end,
    query_of,
    run_three_batches,
    wait_until_idle,
)
from benchmarks.measuring import exit_when_missed, spread
from holdfast.drills.kill.waiting import wait_until
from holdfast.record.layout import LEASES
from lab import S3, Postgres
from lab.faults.s3_proxy import S3Proxy, SeenRequest
from lab.scratch import scratch_directory
from lab.spark import environment

AIM, MOST_PER_HEARTBEAT = 25, 2
OURS = "object_store/"
SMALL = Age()
SIZES = (
    SMALL,
    replace(SMALL, partitions=200),
    replace(SMALL, partitions=1_000),
    replace(SMALL, batches=10_000),
    replace(SMALL, starts=10_000),
)
QUICK_SIZES = (
    SMALL,
    replace(SMALL, partitions=60),
    replace(SMALL, batches=1_500),
    replace(SMALL, starts=3_000),
)


@dataclass(slots=True, kw_only=True)
class Counted:
    """The starts of one stream."""

    age: Age
    ours: list[Counter[str]] = field(default_factory=list)
    """Requests of each guarded start, by what was asked for and where."""
    sparks: list[int] = field(default_factory=list)
    guarded_s: list[float] = field(default_factory=list)
    bare_s: list[float] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """Holdfast's, of one start."""
        return self.ours[-1].total()


def named(request: SeenRequest, root: str) -> str:
    """Return what was asked for and in which directory: `LIST offsets`, `PUT leases`."""
    asked = parse_qs(request.query)
    path = (
        asked.get("prefix", [""])[0]
        if "list-type" in asked
        else request.path.removeprefix("/lake/")
    )
    parts = path.removeprefix(root).strip("/").split("/")
    # Of the record its directories, of the checkpoint its own.
    below = parts[2:3] if parts[0] == "_holdfast" else parts[1:2]
    place = "".join(below) or parts[0]
    return f"{'LIST' if 'list-type' in asked else request.method} {place}"


def ours_of(requests: Sequence[SeenRequest], root: str) -> Counter[str]:
    """Return Holdfast's requests of some, by what was asked for and where."""
    return Counter(named(each, root) for each in requests if each.agent.startswith(OURS))


def count_starts(stream: AgedStream, proxy: S3Proxy, counted: Counted, *, starts: int) -> None:
    """Start it guarded and bare in turns."""
    for _ in range(starts):
        first, began = len(proxy.requests), time.perf_counter()
        query = stream.start()
        counted.guarded_s.append(time.perf_counter() - began)
        counted.ours.append(ours_of(proxy.requests[first:], stream.root))
        end(query)
        first, began = len(proxy.requests), time.perf_counter()
        query = stream.start_bare()
        counted.bare_s.append(time.perf_counter() - began)
        end(query)
        bare = proxy.requests[first:]
        counted.sparks.append(sum(not each.agent.startswith(OURS) for each in bare))


def count_heartbeat(stream: AgedStream, proxy: S3Proxy) -> Counter[str]:
    """Return what Holdfast asks for from one writing of its lease to the next."""

    def written() -> list[int]:
        seen = enumerate(list(proxy.requests))
        return [at for at, each in seen if each.method == "PUT" and f"/{LEASES}/" in each.path]

    query = stream.start()
    taken = len(written())
    wait_until_idle(query)
    assert wait_until(lambda: len(written()) >= taken + 2, seconds=SECONDS)
    first, second = written()[taken : taken + 2]
    end(query)
    return ours_of(proxy.requests[first + 1 : second + 1], stream.root)


def show(counted: Counted, *, where: bool) -> None:
    """Print one line, and where the requests went."""
    age = counted.age
    asked: Counter[str] = Counter()
    for name, count in counted.ours[-1].items():
        asked[name.partition(" ")[0]] += count
    each = ", ".join(f"{count} {name}" for name, count in sorted(asked.items()))
    print(
        f"{age.state_objects:>10,}{age.batches:>9,}{age.starts:>8,}{counted.requests:>10,}"
        f"  {each:<36}{counted.sparks[-1]:>7,}  {spread(counted.guarded_s).show(2):<28}"
        f"{spread(counted.bare_s).show(2)}",
        flush=True,
    )
    if where:
        print("    " + ", ".join(f"{n} {name}" for name, n in counted.ours[-1].most_common()))


@click.command(help=__doc__)
@click.option("--quick", is_flag=True, help="Smaller sizes.")
@click.option("--starts", default=5, show_default=True)
@click.option("--where", is_flag=True, help="Also say in which directories.")
def main(*, quick: bool, starts: int, where: bool) -> None:
    """Count all sizes, print the table, and fail when the requests differ or are too many."""
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    with Postgres() as server, S3() as s3, S3Proxy(s3.port) as proxy, scratch_directory() as home:
        settings = s3.spark_settings(port=proxy.port)
        os.environ.update(environment(home, settings, jvm=(), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        checkpoint = run_three_batches(spark, home / "template")
        frame = query_of(spark, home / "template/in")
        print(
            f"Requests of a start on S3, and the seconds it takes; {starts} starts each, in turns"
        )
        print(
            f"{'state':>10}{'batches':>9}{'starts':>8}{'Holdfast':>10}  {'of them':<36}{'Spark':>7}"
            f"  {'guarded, s':<28}bare, s"
        )
        found = []
        for number, age in enumerate(QUICK_SIZES if quick else SIZES):
            dsn = server.create_database(f"aged_{number}")
            stream = AgedStream(frame=frame, root=f"aged/{number}", dsn=dsn)
            stream.age(s3.store(), checkpoint, age)
            counted = Counted(age=age)
            count_starts(stream, proxy, counted, starts=starts)
            show(counted, where=where)
            found.append(counted)
        heartbeat = count_heartbeat(stream, proxy)
        print(f"A heartbeat: {heartbeat.total()} requests ({', '.join(sorted(heartbeat))})")
        spark.stop()
    exit_when_missed(misses(found, heartbeat.total()))


def misses(found: Sequence[Counted], heartbeat: int) -> list[str]:
    """Return the aims that were missed."""
    totals = {total for counted in found for total in (each.total() for each in counted.ours)}
    missed = [] if len(totals) == 1 else [f"starts make {min(totals)} to {max(totals)} requests"]
    if min(totals) > AIM:
        missed.append(f"a start makes {min(totals)} requests, more than {AIM}")
    if heartbeat > MOST_PER_HEARTBEAT:
        missed.append(f"a heartbeat makes {heartbeat} requests")
    return missed


if __name__ == "__main__":
    main()
