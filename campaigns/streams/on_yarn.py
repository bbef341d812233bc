"""A guarded stream of files for YARN's cluster mode; the driver of `yarn_attempts`.

    spark-submit --master yarn --deploy-mode cluster on_yarn.py FILES ROOT

The first two application attempts kill their own driver, Python and JVM, at a point of a batch.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

import holdfast as hf
from holdfast import points

KILLS = {"01": "S6:2", "02": "copying:2"}
"""By the number of the application attempt, in the name of its container."""


ENDED = "ended by itself"
KILLED = "killed"
"""A file beside the logs of a container: it was killed, and where."""


def arm(attempt: str) -> None:
    """Have this driver killed at its point, if it has one."""
    seen: Counter[str] = Counter()

    def listen(point: str) -> None:
        seen[point] += 1
        if KILLS.get(attempt) == f"{point}:{seen[point]}":
            # Not printed: what Python prints goes through the JVM, which ends before it is written.
            Path(os.environ["LOG_DIRS"], KILLED).write_text(f"attempt {attempt} killed at {point}")
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    points.listen(listen)


def main() -> None:
    """Run the stream to its end, unless it is killed."""
    files, root = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    container = os.environ["CONTAINER_ID"]  # container_<cluster>_<application>_<attempt>_<number>
    attempt = container.split("_")[-2]
    arm(attempt)
    reader = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", 1)
    query = hf.start(
        reader.json(files),
        stream="on-yarn",
        root=root,
        into=hf.Postgres("env:READINGS_DSN", table="readings"),
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    print(ENDED, flush=True)


if __name__ == "__main__":
    main()
