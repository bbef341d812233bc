"""The sensors pipeline under an hour of random kills: drivers, the broker, PostgreSQL and S3.

    python -m campaigns.soak --minutes 60 --seed 7

Messages are sent all the time. Five guarded streams run in one driver, which is killed with SIGKILL
20 to 60 s after its start, wherever it is, and started again. At one moment in six a server dies,
and comes back: the driver dies with it, after it, or goes on. On a loaded machine a driver may die
before anything has come through to PostgreSQL, again and again: after such a run the next one is
waited for, and that is told.

Before the kill of a driver that came so far memory, open files, sessions and files are counted. A
last run ends by itself, and all tables are compared row by row. It ends with 1 when a row is
lost or duplicated, when something grows that must not, or when a driver failed that nobody had
given a reason to.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
import psutil
import psycopg
from obstore.exceptions import BaseError

from campaigns.outcome import describe_tables
from campaigns.soak import pipeline
from campaigns.soak.growth import (
    LEAST_SAMPLES,
    STARTS,
    describe_growth,
    judge_growth,
    take_sample,
)
from campaigns.soak.sending import Sender
from campaigns.soak.strikes import Life, Strike, bring_back, draw_strikes
from campaigns.streams.sensors_scenario import make_scenario
from examples.sensors import guarded
from examples.sensors.judge import judge
from examples.sensors.messages import make_messages
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.drills.kill import Driver
from holdfast.drills.kill.driver import Running
from holdfast.drills.kill.waiting import wait_until
from holdfast.proof.multiset import Difference
from lab import S3, Kafka, Postgres
from lab.scratch import scratch_directory
from lab.server import Server
from lab.spark import environment, start_session
from lab.warm_up import ensure_archive

MESSAGES_PER_BATCH = 20_000
WAITED_SECONDS = 240.0
LAST_RUN_SECONDS = 900.0
# With the default of 100 the checkpoints would fill up for most of the hour.
BATCHES_KEPT = {"spark.sql.streaming.minBatchesToRetain": "3"}
COMMITTED = "S7"
SERVED = "S5"
"""Only PostgreSQL's sink has it, the last one of the last stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What the pipeline runs on."""

    kafka: Kafka
    postgres: Postgres
    s3: S3

    def __iter__(self) -> Iterator[Server]:
        return iter((self.kafka, self.postgres, self.s3))


@dataclass(slots=True, kw_only=True)
class Soak:
    """The pipeline, and what has become of it so far."""

    servers: Servers
    sensors: Sensors
    strikes: Iterator[Strike]
    lives: list[Life] = field(default_factory=list)
    samples: list[dict[str, float]] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    samples_file: Path | None = None
    """Gets every sample too, one JSON object a line."""

    def live(self, driver: Driver) -> None:
        """Run the driver until a strike ends it, or it ends by itself."""
        began, server_died, told = time.monotonic(), False, []
        in_vain = not (self.lives and self.lives[-1].served)
        with driver.start() as running:
            while True:
                strike = next(self.strikes)
                gone = wait_until(lambda: _is_gone(running), seconds=strike.after_seconds)
                if in_vain and not gone:
                    gone = _wait_until_served(running, strike.later_seconds)
                if gone:
                    break
                told.append(str(strike) + self._sample(running))
                self._strike(strike, running)
                if strike.driver != "spared":
                    break
                server_died = True
            ended = running.wait()
            commits = [at - began for at in _times(running, COMMITTED)]
            served = bool(_times(running, SERVED))
        if gone:
            told.append(f"it ended by itself with {ended.describe()}, see {ended.log}")
        life = Life(
            told="; ".join(told),
            seconds=ended.wall_seconds,
            batches=len(commits),
            first_commit_seconds=commits[0] if commits else None,
            served=served,
            was_waited_for=in_vain,
            failed_unasked=gone and not server_died,
        )
        self._note(life)

    def _strike(self, strike: Strike, running: Running) -> None:
        self.kills.update(strike.dies)
        if not strike.server:
            running.kill()
            return
        server = next(each for each in self.servers if each.name == strike.server)
        server.crash()
        if strike.driver == "with":
            running.kill()
        bring_back(server)
        if strike.driver == "after":
            running.kill()

    def _sample(self, running: Running) -> str:
        """Take a sample of a driver that came as far as the others that are compared.

        On a loaded machine something may not answer: that is only told.
        """
        if not _times(running, SERVED):
            return ""
        prefix = self.sensors.lake.removeprefix("s3a://lake/")
        try:
            sample = take_sample(
                running.pid, self.sensors.dsn, s3=self.servers.s3, prefix=f"{prefix}/"
            )
        except (psutil.Error, psycopg.Error, BaseError) as error:
            return f" (no sample: {type(error).__name__})"
        self.samples.append({**sample, STARTS: len(self.lives) + 1})
        if self.samples_file is not None:
            with self.samples_file.open("a") as file:
                file.write(json.dumps(self.samples[-1]) + "\n")
        return ""

    def _note(self, life: Life) -> None:
        self.lives.append(life)
        first = life.first_commit_seconds
        came = (
            "no batch" if first is None else f"{life.batches} batches, the first at {first:.0f} s"
        )
        waited = ", waited for" if life.was_waited_for else ""
        told = f"{life.told} ({life.seconds:.0f} s, {came}{waited})"
        click.echo(f"{time.strftime('%H:%M:%S')} {len(self.lives)}: {told}", err=True)


def _is_gone(running: Running) -> bool:
    return not psutil.pid_exists(running.pid)


def _times(running: Running, point: str) -> list[float]:
    return [at for at, name in running.reached if name == point]


def _wait_until_served(running: Running, later_seconds: float) -> bool:
    """Wait until PostgreSQL has got something, and a little longer; return whether it died."""

    def is_over() -> bool:
        return _is_gone(running) or bool(_times(running, SERVED))

    wait_until(is_over, seconds=WAITED_SECONDS)
    return wait_until(lambda: _is_gone(running), seconds=later_seconds)


def run_to_end(driver: Driver) -> None:
    """Let the pipeline bring everything through that is in the topic.

    Raises:
        DriverFailedError: It did not.
    """
    ended = replace(driver, seconds=LAST_RUN_SECONDS).run_to_end()
    click.echo(f"The last run took {ended.wall_seconds:.0f} s.", err=True)


def make_driver(soak: Soak, program: str, directory: Path) -> Driver:
    """Return a driver that runs a program on the pipeline."""
    sensors = soak.sensors
    settings = {**soak.servers.s3.spark_settings(), **BATCHES_KEPT}
    return Driver(
        [program, sensors.bootstrap, sensors.topic, sensors.lake, str(MESSAGES_PER_BATCH)],
        environment={**environment(directory, settings), DSN_NAME: sensors.dsn},
        directory=directory / "runs",
    )


def run(soak: Soak, sender: Sender, directory: Path, *, seconds: float) -> None:
    """Kill the pipeline for so long while messages come in, then let it come to its end."""
    driver = make_driver(soak, pipeline.__file__, directory / "killed")
    sender.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        soak.live(driver)
    sender.finish()
    run_to_end(make_driver(soak, guarded.__file__, directory / "last"))


def find_faults(soak: Soak, differences: dict[str, Difference]) -> list[str]:
    """Say everything that is not as it must be; nothing when all is."""
    faults = [f"{table} is not exact" for table, found in differences.items() if not found.exact]
    unasked = sum(life.failed_unasked for life in soak.lives)
    if unasked:
        faults.append(f"{unasked} drivers failed though no server had died")
    if len(soak.samples) >= LEAST_SAMPLES:
        faults += [f"{each.name} grows" for each in judge_growth(soak.samples) if each.is_too_much]
    return faults


def tell(soak: Soak, differences: dict[str, Difference]) -> str:
    """Say in one line how it went."""
    kills = ", ".join(f"{count} of {name}" for name, count in sorted(soak.kills.items()))
    moved = sum(bool(life.batches) for life in soak.lives)
    faults = find_faults(soak, differences)
    growth = "nothing grows" if len(soak.samples) >= LEAST_SAMPLES else "growth NOT judged"
    good = f"exact, {growth} ({len(soak.samples)} samples)"
    verdict = "FAILED: " + "; ".join(faults) if faults else good
    seconds = statistics.median(life.seconds for life in soak.lives)
    waited = sum(life.was_waited_for for life in soak.lives)
    runs = f"{moved} of {len(soak.lives)} runs made progress, {waited} were waited for"
    lived = f"a driver lived {seconds:.0f} s (median)"
    return f"kills: {kills}; {lived}; {runs}; {describe_tables(differences)}; {verdict}"


@click.command(help=__doc__)
@click.option("--minutes", default=60.0, show_default=True)
@click.option("--rate", default=100.0, show_default=True, help="Messages each second.")
@click.option("--seed", default=7, show_default=True)
@click.option("--samples", type=click.Path(path_type=Path), help="Keep every sample there.")
def main(*, minutes: float, rate: float, seed: int, samples: Path | None) -> None:
    """Run it, compare, and say what was lost, duplicated or has grown."""
    ensure_archive()
    messages = make_messages(int(minutes * 60 * rate), seed=seed)
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        scratch.chmod(0o755)  # PostgreSQL runs as another account; a failed soak keeps its data
        servers = Servers(
            kafka=stack.enter_context(Kafka(scratch / "kafka")),
            postgres=stack.enter_context(Postgres(scratch / "postgres")),
            s3=stack.enter_context(S3(scratch / "s3")),
        )
        sensors = make_scenario(
            servers.kafka,
            servers.postgres,
            messages_per_batch=MESSAGES_PER_BATCH,
            serving_table=guarded.SERVING_TABLES,
        )
        soak = Soak(
            servers=servers, sensors=sensors, strikes=draw_strikes(seed), samples_file=samples
        )
        sender = Sender(servers.kafka.address, sensors.topic, messages=messages, rate=rate)
        run(soak, sender, scratch, seconds=minutes * 60)
        spark = start_session(scratch / "judge", servers.s3.spark_settings())
        differences = judge(spark, sensors, messages)
        spark.stop()
        if soak.samples:
            click.echo(describe_growth(soak.samples))
        click.echo(f"seed {seed}, {minutes:g} minutes; {tell(soak, differences)}")
        if find_faults(soak, differences):
            sys.exit(1)  # inside: the scratch directory stays


if __name__ == "__main__":
    main()
