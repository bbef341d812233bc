"""Scans a fleet with Spark into Parquet files, and prints what that cost and who was killed.

    python fleet_scan.py LAKE DIRECTORY '{"slices": 32, "scans": 2, "kills": false}'

The first scan goes to `DIRECTORY/0`, and so on. With `kills`, one executor of a cluster is killed
with SIGKILL in the last scan, after the first task and before the last one has ended. CPU is that
of the driver, the JVM and the Python workers of this machine.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import psutil
from pyspark.sql import SparkSession

import holdfast as hf

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def main(lake: str, directory: str, asked: dict[str, int]) -> None:
    """Start a session, scan, and print what each took as JSON."""
    began, cpu = time.perf_counter(), _cpu()
    spark = SparkSession.builder.appName("fleet").getOrCreate()
    spark.range(2).mapInArrow(lambda batches: batches, "id long").collect()
    start = {"seconds": time.perf_counter() - began, "cpu_s": _cpu() - cpu}
    killed: dict[str, int] = {}
    scans = []
    for number in range(asked["scans"]):
        if asked["kills"] and number == asked["scans"] - 1:
            threading.Thread(target=_kill, args=(spark, killed), daemon=True).start()
        began, cpu = time.perf_counter(), _cpu()
        rows = hf.scan_fleet(spark, [lake], slices=asked["slices"])
        rows.write.parquet(f"{directory}/{number}")
        scans.append({"seconds": time.perf_counter() - began, "cpu_s": _cpu() - cpu})
    print(json.dumps({"spark": spark.version, "start": start, "scans": scans, "killed": killed}))
    spark.stop()


def _cpu() -> float:
    """Return the CPU seconds of this process and of everything below it, the ended ones too."""
    here = psutil.Process()
    total = 0.0
    for each in (here, *here.children(recursive=True)):
        try:
            used = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system + used.children_user + used.children_system
    return total


def _kill(spark: SparkSession, killed: dict[str, int]) -> None:
    """Kill one executor in the middle of the stage that scans."""
    tracker, application = spark.sparkContext.statusTracker(), spark.sparkContext.applicationId
    while True:
        stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
        for stage in filter(None, stages):
            if 0 < stage.numCompletedTasks < stage.numTasks - 1:
                executor = _executors(application)[0]
                executor.kill()
                killed.update(pid=executor.pid, completed=stage.numCompletedTasks)
                killed.update(tasks=stage.numTasks)
                return
        time.sleep(0.002)


def _executors(application: str) -> list[psutil.Process]:
    found = []
    for each in psutil.process_iter():
        try:
            words = each.cmdline()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if _EXECUTOR in words and application in words:
            found.append(each)
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
