"""The session of a drill on real Spark: its own settings, below those of its user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lab.spark import environment

PROGRAM = """
from holdfast.drills.programs.drill_session import SETTINGS, open_session
spark = open_session()
for name in SETTINGS:
    print(name, spark.sparkContext.getConf().get(name), spark.conf.get(name))
"""
GIVEN = """
spark.master local[2]
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.databricks.delta.snapshotPartitions 7
"""


def test_a_drill_sets_what_its_user_has_not(tmp_path: Path) -> None:
    variables = environment(tmp_path, {})
    Path(variables["SPARK_CONF_DIR"], "spark-defaults.conf").write_text(GIVEN)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    assert ended.stdout.splitlines() == [
        "spark.sql.shuffle.partitions 2 2",
        "spark.databricks.delta.snapshotPartitions 7 7",
        "spark.ui.showConsoleProgress false false",
        "spark.ui.enabled false false",
    ]
