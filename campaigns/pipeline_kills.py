"""The sensors pipeline, whole, under kills: drivers, the broker, PostgreSQL and S3.

    python -m campaigns.pipeline_kills --messages 300000 --kills 20 --server-kills 5 --seed 1
    python -m campaigns.pipeline_kills --messages 50000 --kills 25 --server-kills 0 --repairs

Five guarded streams, two of them with state, run side by side in one driver. Before every run new
messages are sent; then the driver's process group is killed at a point drawn by the seed: a step of
our own, or a request to S3 that has or has not gone through. With a server kill the driver is
halted at its point, the server dies and comes back, and the driver goes on before or after that,
until a batch is through or it has failed; then it is killed too. The last run ends by itself, and
all tables are compared row by row. Duplicates and late messages are among them, and are counted.

With `--repairs` the streams with state are rewound then, and the pipeline is reset from its first
stage on, and proved. All tables are compared after each repair.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click
import psutil
from pyspark.sql import SparkSession

from campaigns import pipeline_repairs
from campaigns.judging import assert_passed
from campaigns.outcome import describe_tables, differences_of
from campaigns.streams.sensors_scenario import make_scenario, send
from campaigns.streams.sensors_tables import SensorsTables
from examples.sensors import answers, guarded
from examples.sensors.messages import Message, make_messages
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.drills.drill import Recording
from holdfast.drills.kill import Driver, Ended, Named, Point
from holdfast.drills.kill.points import When
from holdfast.drills.kill.waiting import wait_until
from holdfast.drills.verdict import Checked
from holdfast.proof.values import ProofVerdict
from lab import S3, Kafka, Postgres
from lab.faults.s3_proxy import S3Proxy, S3Request
from lab.scratch import scratch_directory
from lab.server import Server
from lab.spark import environment, start_session
from lab.warm_up import ensure_archive

STREAMS, SINKS = 5, 7
# How often each run comes by a point at least: new messages are one batch of each stream or more.
NAMED = {
    **dict.fromkeys(("G1", "G2", "G3", "G4", "G5", "G6"), STREAMS),
    "fenced": SINKS,
    **dict.fromkeys(("S1", "S7"), STREAMS),
    **dict.fromkeys(("S2", "S3", "S6", "sink-written"), SINKS),
    **dict.fromkeys(("copying", "S4", "S5"), 1),
}
REQUESTS = {
    r"/leases/[0-9]+\.json$": STREAMS,
    r"/checkpoints/[^/]+/offsets/[0-9]+$": STREAMS,
    r"/checkpoints/[^/]+/commits/[0-9]+$": STREAMS,
    r"/_delta_log/[0-9]+\.json$": 2 * STREAMS,  # a fence and a batch of each table
    r"/part-[^/]+\.parquet$": STREAMS - 1,  # nothing may be for quarantine
}
WAIT_SECONDS = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What the pipeline runs on."""

    kafka: Kafka
    postgres: Postgres
    s3: S3
    proxy: S3Proxy
    """The driver reaches S3 through it."""

    def __iter__(self) -> Iterator[Server]:
        return iter((self.kafka, self.postgres, self.s3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is sent, and how often it is killed."""

    messages: int
    kills: int
    server_kills: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A pipeline that was killed and ran to its end."""

    tables: SensorsTables
    recording: Recording

    def judge(self, spark: SparkSession) -> list[Checked]:
        """Compare all tables row by row, and check every run."""
        self.tables.spark = spark
        self.recording.look()
        return self.recording.check()


def draw_point(choose: random.Random) -> Point:
    """Draw a point that every run comes by."""
    if choose.random() < 0.5:
        return draw_named(choose)
    pattern = choose.choice(list(REQUESTS))
    when = choose.choice(list(get_args(When)))
    return S3Request(when, pattern, choose.randint(1, REQUESTS[pattern]))


def draw_named(choose: random.Random) -> Named:
    """Draw a step of our own."""
    name = choose.choice(list(NAMED))
    return Named(name, choose.randint(1, NAMED[name]))


def run(plan: Plan, servers: Servers, directory: Path) -> Ran:
    """Kill the pipeline so many times, then let it run to its end."""
    choose = random.Random(plan.seed)  # noqa: S311 - it must be replayable
    deaths = plan.kills + plan.server_kills
    messages = make_messages(plan.messages, seed=plan.seed)
    parts = _cut(messages, deaths + 1)
    sensors = make_scenario(
        servers.kafka,
        servers.postgres,
        messages_per_batch=len(parts[0]),
        serving_table=guarded.SERVING_TABLES,
    )
    driver = _driver(servers, sensors, directory)
    tables = SensorsTables(sensors=sensors, sent=messages)
    recording = Recording(tables, directory / "history")
    doomed = list(servers)
    for number, part in enumerate(parts):
        send(servers.kafka, sensors.topic, part)
        if plan.kills <= number < deaths:
            server = doomed[(number - plan.kills) % len(doomed)]
            _kill_server(recording, driver, server, choose=choose)
            continue
        point = draw_point(choose) if number < plan.kills else None
        ended = recording.run(driver, point)
        _tell(f"killed at {point}" if point else "ran to its end", ended)
    return Ran(tables=tables, recording=recording)


def _kill_server(
    recording: Recording, driver: Driver, server: Server, *, choose: random.Random
) -> None:
    """Halt the driver at a point, kill a server, let both go on, and kill the driver."""
    point = draw_named(choose)
    goes_on_without_it = choose.random() < 0.5
    recording.start()
    with driver.start(point, strike=signal.SIGSTOP) as running:
        running.wait_until_halted()
        halted_at = time.monotonic()
        server.crash()
        if goes_on_without_it:
            running.resume()
        server.start()
        running.resume()

        def is_over() -> bool:
            came_by = any(at > halted_at and name == "S7" for at, name in running.reached)
            return came_by or not psutil.pid_exists(running.pid)

        wait_until(is_over, seconds=WAIT_SECONDS)
        running.kill()
        ended = running.wait()
        recording.end(running, ended)
    when = "came back later" if goes_on_without_it else "came back first"
    _tell(f"{server.name} killed at {point}, {when}; the driver: {ended.describe()}", ended)


def _cut(messages: list[Message], parts: int) -> list[list[Message]]:
    size = -(-len(messages) // parts)
    return [messages[at : at + size] for at in range(0, len(messages), size)]


def _driver(servers: Servers, sensors: Sensors, directory: Path) -> Driver:
    arguments = [sensors.bootstrap, sensors.topic, sensors.lake, str(sensors.messages_per_batch)]
    settings = servers.s3.spark_settings(port=servers.proxy.port)
    return Driver(
        [guarded.__file__, *arguments],
        environment={**environment(directory, settings), DSN_NAME: sensors.dsn},
        directory=directory / "runs",
        striker=servers.proxy,
    )


def _tell(told: str, ended: Ended) -> None:
    click.echo(f"{told} ({ended.wall_seconds:.0f} s)", err=True)


@click.command(help=__doc__)
@click.option("--messages", default=300_000, show_default=True)
@click.option("--kills", default=20, show_default=True, help="Of the driver alone.")
@click.option("--server-kills", default=5, show_default=True, help="Of a server, and the driver.")
@click.option("--seed", default=1, show_default=True)
@click.option("--repairs", is_flag=True, help="Rewind, reset and prove it then.")
def main(*, repairs: bool, **given: int) -> None:
    """Run it, compare, and say what was lost and duplicated."""
    plan = Plan(**given)
    ensure_archive()
    with ExitStack() as stack:
        s3 = stack.enter_context(S3())
        servers = Servers(
            kafka=stack.enter_context(Kafka()),
            postgres=stack.enter_context(Postgres()),
            s3=s3,
            proxy=stack.enter_context(S3Proxy(s3.port)),
        )
        scratch = stack.enter_context(scratch_directory())
        ran = run(plan, servers, scratch / "drivers")
        pipeline_repairs.prepare(ran.tables.sensors, s3)
        spark = start_session(scratch / "judge", s3.spark_settings())
        checked = ran.judge(spark)
        tables = describe_tables(differences_of(ran.recording.history))
        told = f"seed {plan.seed}: {plan.kills} kills, {plan.server_kills} with a server"
        click.echo(f"{told}; {answers.count(ran.tables.sent)}; {tables}")
        failed = _repair(spark, ran, scratch) if repairs else []
        spark.stop()
    assert_passed(checked)
    if failed:
        raise click.ClickException(f"not exact: {'; '.join(failed)}")


def _repair(spark: SparkSession, ran: Ran, scratch: Path) -> list[str]:
    """Repair the pipeline, say how its tables are after each repair, and return what is wrong."""
    sensors, failed = ran.tables.sensors, []
    for name, found in pipeline_repairs.repair(spark, sensors, ran.tables.sent, scratch=scratch):
        click.echo(f"{name}: {describe_tables(found)}")
        if not all(each.exact for each in found.values()):
            failed.append(name)
    verdicts = pipeline_repairs.prove(spark, sensors)
    click.echo("; ".join(f"prove {table}: {verdict}" for table, verdict in verdicts.items()))
    return failed + [table for table, found in verdicts.items() if found is ProofVerdict.NOT_EXACT]


if __name__ == "__main__":
    main()
