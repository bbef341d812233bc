"""A guarded stream on YARN in cluster mode, root and files on HDFS, its driver killed twice.

    python -m campaigns.yarn_attempts

The ResourceManager starts a second and a third application attempt by itself. At the end the table
in PostgreSQL must hold every row exactly once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pyspark
from psycopg.conninfo import conninfo_to_dict

from campaigns.streams import on_yarn
from holdfast.proof.multiset import compare
from lab import Postgres
from lab.hdfs import Hdfs
from lab.tools import find_tool
from lab.yarn import Yarn

FILES, ROWS = 4, 250
SECONDS = 900
_SHOWN = 3_000
"""How many characters of each log are shown when the application fails."""


def write_input(hdfs: Hdfs, directory: Path) -> str:
    """Put files onto HDFS, and return their directory."""
    for number in range(FILES):
        rows = (json.dumps({"id": number * ROWS + row}) for row in range(ROWS))
        (directory / f"{number}.json").write_text("\n".join(rows) + "\n")
    target = f"{hdfs.address}/in"
    shell = [*hdfs.client(), "org.apache.hadoop.fs.FsShell"]
    subprocess.run([*shell, "-mkdir", "-p", target], check=True)
    files = [str(path) for path in sorted(directory.glob("*.json"))]
    subprocess.run([*shell, "-put", *files, target], check=True)
    return target


def as_url(dsn: str) -> str:
    """Return a DSN without spaces: YARN's own scripts set the variables of a container."""
    given = conninfo_to_dict(dsn)
    return "postgresql://{user}:{password}@{host}:{port}/{dbname}".format(**given)


def submit(yarn: Yarn, hdfs: Hdfs, *, files: str, dsn: str) -> None:
    """Run the application to its end, through all of its attempts."""
    package = Path(pyspark.__file__).parent
    python = sys.executable
    given = {"READINGS_DSN": dsn, "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": python}
    given |= {"SPARK_LOCAL_IP": "127.0.0.1", "HADOOP_USER_NAME": os.environ.get("USER", "root")}
    settings = {
        "spark.yarn.jars": f"local:{package}/jars/*",
        "spark.yarn.maxAppAttempts": "3",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "768m",
        "spark.executor.memory": "768m",
        "spark.executor.instances": "1",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        **{f"spark.yarn.appMasterEnv.{name}": value for name, value in given.items()},
        **{f"spark.executorEnv.{name}": value for name, value in given.items()},
        **hdfs.spark_settings(),
    }
    options = [each for name in settings for each in ("--conf", f"{name}={settings[name]}")]
    command = [str(package / "bin/spark-submit"), "--master", "yarn", "--deploy-mode", "cluster"]
    command += [*options, str(on_yarn.__file__), files, f"{hdfs.address}/streams"]
    variables = {**os.environ, **yarn.environment(), **given, "SPARK_HOME": str(package)}
    with (yarn.logs / "submitted").open("w") as log:
        ended = subprocess.run(command, check=False, env=variables, timeout=SECONDS, stderr=log)
    if ended.returncode:
        errors = [*sorted(yarn.logs.glob("*/*/stderr")), yarn.logs / "submitted"]
        sys.exit("\n".join(each.read_text()[-_SHOWN:] for each in errors))


def main() -> None:
    """Run it, and say what the attempts did and what the table holds."""
    find_tool("java")
    with Postgres() as postgres, Hdfs() as hdfs, Yarn(hdfs) as yarn:
        dsn = postgres.create_database("on_yarn")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE readings (id bigint)")
        files = write_input(hdfs, yarn.directory)
        began = time.monotonic()
        submit(yarn, hdfs, files=files, dsn=as_url(dsn))
        seconds = time.monotonic() - began
        printed = [path.read_text() for path in sorted(yarn.logs.glob("*/*/stdout"))]
        ended = [line for text in printed for line in text.splitlines() if line == on_yarn.ENDED]
        kills = [path.read_text() for path in sorted(yarn.logs.glob(f"*/*/{on_yarn.KILLED}"))]
        with psycopg.connect(dsn) as connection:
            rows = connection.execute("SELECT id FROM readings").fetchall()
    found = compare([(number,) for number in range(FILES * ROWS)], rows)
    print(f"{'; '.join([*kills, *ended])}; {seconds:.0f} s")
    print(
        f"{len(rows):,} rows: {found.missing} lost, {found.duplicated + found.foreign} duplicated"
    )
    if not found.exact or len(kills) != len(on_yarn.KILLS) or len(ended) != 1:
        sys.exit("FAIL: two attempts are killed, the third ends, and every row is there once.")
    print("PASS")


if __name__ == "__main__":
    main()
