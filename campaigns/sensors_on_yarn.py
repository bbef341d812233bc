"""The sensors pipeline on YARN by its own script, `examples/sensors/submit.sh`.

    python -m campaigns.sensors_on_yarn [--messages 2000]

Driver and executor are containers of a real YARN. The topic is on Kafka, tables and checkpoints are
on HDFS, and the serving tables in PostgreSQL. As soon as PostgreSQL serves rows the driver is
killed, Python and JVM, and YARN starts the next attempt, which runs to its end. Then every table is
compared row by row, and the query of the dashboard is run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click
import psutil
import psycopg
import pyspark

from campaigns.outcome import describe_tables
from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import answers, guarded, job
from examples.sensors.judge import judge
from examples.sensors.messages import make_messages
from examples.sensors.settings import Sensors
from holdfast.drills.kill.waiting import wait_until
from lab import Kafka, Postgres
from lab.hdfs import Hdfs
from lab.jars import fetch_jars
from lab.scratch import scratch_directory
from lab.spark import OWN, start_session
from lab.yarn import Yarn

EXAMPLE = Path(job.__file__).parent
SECONDS = 540
_SHOWN = 3_000
"""How many characters of each log are shown when the application fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where the script runs the pipeline."""

    yarn: Yarn
    hdfs: Hdfs
    sensors: Sensors

    def submit(self) -> subprocess.Popen[bytes]:
        """Start the script with what is special about a cluster on one machine."""
        root = str(EXAMPLE.parents[1])
        path = os.pathsep.join(each for each in sys.path if each not in ("", root))
        given = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
        given |= {"SPARK_LOCAL_IP": "127.0.0.1", "HADOOP_USER_NAME": os.environ.get("USER", "root")}
        package = Path(pyspark.__file__).parent
        settings = {
            "spark.yarn.jars": f"local:{package}/jars/*",
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.executor.memory": "1g",
            "spark.executor.instances": "1",
            "spark.executor.cores": "2",
            "spark.sql.shuffle.partitions": "2",
            "spark.databricks.delta.snapshotPartitions": "1",
            **{f"spark.yarn.appMasterEnv.{name}": value for name, value in given.items()},
            **{f"spark.executorEnv.{name}": value for name, value in given.items()},
            **self.hdfs.spark_settings(),
        }
        jars = ",".join(f"local:{jar}" for jar in fetch_jars(OWN.connectors))
        options = [each for name in settings for each in ("--conf", f"{name}={settings[name]}")]
        variables = {**os.environ, **self.yarn.environment(), "SPARK_HOME": str(package)}
        variables |= {**given, "PACKAGES": "", "ONCE": "1"}  # without the repository on its path
        with (self.yarn.logs / "submitted").open("wb") as log:
            return subprocess.Popen(
                [str(EXAMPLE / "submit.sh"), str(self._settings()), "--jars", jars, *options],
                env=variables,
                stderr=log,
            )

    def _settings(self) -> Path:
        """Write the settings file of the pipeline."""
        file, dsn = self.yarn.directory / "on-yarn.toml", self.yarn.directory / "dsn"
        dsn.write_text(self.sensors.dsn)
        given = {
            "bootstrap": self.sensors.bootstrap,
            "topic": self.sensors.topic,
            "root": self.sensors.lake,
            "postgres": f"file:{dsn}",
        }
        lines = [f'{name} = "{value}"\n' for name, value in given.items()]
        lines.append(f"messages_per_batch = {self.sensors.messages_per_batch}\n")
        file.write_text("".join(lines))
        return file

    def served(self) -> int:
        """Return how many rows PostgreSQL serves."""
        with psycopg.connect(self.sensors.dsn) as connection:
            return len(connection.execute("select 1 from product_usage").fetchall())


def kill_driver(cluster: Cluster) -> int:
    """Kill the driver's Python, its JVM and what started it; return how many processes that were.

    They are the processes of a container of this cluster that have the job on their command line.
    """
    found = 0
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_ours = Path(process.cwd()).is_relative_to(cluster.yarn.directory)
            if is_ours and any("job.py" in part for part in process.cmdline()):
                process.kill()
                found += 1
    return found


def run(cluster: Cluster) -> int:
    """Submit, kill the driver once, and wait for the end; return how many processes were killed."""
    with cluster.submit() as submitted:
        wait_until(lambda: cluster.served() > 0 or submitted.poll() is not None, seconds=SECONDS)
        killed = kill_driver(cluster)
        if submitted.wait(SECONDS):
            logs = [*sorted(cluster.yarn.logs.glob("*/*/std*")), cluster.yarn.logs / "submitted"]
            sys.exit("\n".join(each.read_text()[-_SHOWN:] for each in logs))
    return killed


@click.command(help=__doc__)
@click.option("--messages", "count", default=2_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(*, count: int, seed: int) -> None:
    """Run it, compare, and say what the tables hold."""
    sent = make_messages(count, seed=seed)
    with Kafka() as kafka, Postgres() as postgres, Hdfs() as hdfs, Yarn(hdfs) as yarn:
        made = make_scenario(
            kafka,
            postgres,
            messages_per_batch=count // 4,
            serving_table=guarded.SERVING_TABLES,
        )
        lake = f"{hdfs.address}/sensors"
        sensors = replace(made, lake=lake, checkpoints=f"{lake}/checkpoints")
        send(kafka, sensors.topic, sent)
        began = time.monotonic()
        killed = run(Cluster(yarn=yarn, hdfs=hdfs, sensors=sensors))
        seconds = time.monotonic() - began
        attempts = len({path.parent.name for path in yarn.logs.glob("*/*_000001/stderr")})
        with scratch_directory() as scratch:
            spark = start_session(scratch, hdfs.spark_settings())
            found = judge(spark, sensors, sent)
            spark.stop()
        with psycopg.connect(sensors.dsn) as connection:
            shown = connection.execute((EXAMPLE / "dashboard.sql").read_bytes()).fetchall()
    click.echo(f"{answers.count(sent)}; {describe_tables(found)}")
    click.echo(f"{attempts} attempts, {seconds:.0f} s; the dashboard shows {len(shown)} rows")
    if killed < 2 or attempts < 2 or not shown or not all(each.exact for each in found.values()):
        sys.exit("FAIL: the driver is killed, the next attempt ends, and every table is exact.")
    click.echo("PASS")


if __name__ == "__main__":
    main()
