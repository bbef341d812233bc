"""How long `holdfast lint` takes for 1,000 files, in one process of Python.

    python -m benchmarks.lint_speed

Once for a repository in which one file in ten is a streaming program, and once for the worst case,
in which all are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = 1_000
MOST_SECONDS = 3.0
OTHER = "\n".join(
    f"def step_{n}(rows):\n    return [row + {n} for row in rows]\n" for n in range(40)
)
STREAMING = (
    """\
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

CHECKPOINTS = "s3a://lake/checkpoints"
spark = SparkSession.builder.appName("job").getOrCreate()
reader = spark.readStream.format("kafka").option("subscribe", "orders")
orders = reader.option("startingOffsets", "earliest").load()


def save(batch, batch_id):
    rows = batch.withColumn("batch", F.lit(batch_id)).filter("value is not null")
    try:
        rows.write.format("jdbc").option("dbtable", "orders").mode("append").save()
    except Exception as error:
        print(batch_id, error)


def start(frame, name):
    writer = frame.writeStream.foreachBatch(save).trigger(processingTime="10 seconds")
    return writer.option("checkpointLocation", f"{CHECKPOINTS}/{name}").start()


query = start(orders, "orders")
query.awaitTermination()
"""
    + OTHER
)


def main() -> None:
    """Time both, and fail if 1,000 files of a usual repository take too long."""
    for shown, every in (("one in ten streams", 10), ("all stream", 1)):
        with tempfile.TemporaryDirectory() as directory:
            for number in range(FILES):
                text = STREAMING if number % every == 0 else OTHER
                Path(directory, f"job_{number:04}.py").write_text(text)
            command = [sys.executable, "-m", "holdfast", "lint", directory]
            began = time.perf_counter()
            ran = subprocess.run(command, check=False, capture_output=True, text=True)
            seconds = time.perf_counter() - began
        print(f"{FILES:,} files, {shown}: {seconds:.2f} s. {ran.stdout.splitlines()[-1]}")
        if every > 1 and seconds > MOST_SECONDS:
            sys.exit(f"More than {MOST_SECONDS} s is too long.")


if __name__ == "__main__":
    main()
