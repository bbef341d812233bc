"""Makes the class data sharing archive: one real run of everything the lab's drivers do.

Classes reach the archive by being loaded, so the run reads Kafka, keeps state, writes Delta by
append and MERGE on s3a and calls foreachBatch; then it ends normally, which is when the JVM writes
the archive.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from holdfast.drills.kill.driver import Driver
from lab.kafka import Kafka
from lab.s3 import S3
from lab.scratch import scratch_directory
from lab.spark import CHEAP_JVM, archive_path, environment

_PROGRAM = Path(__file__).with_name("programs") / "warm_up.py"
_TOPIC = "warm-up"


def ensure_archive() -> Path:
    """Return the archive, made when the cache does not have it (about a minute, once)."""
    archive = archive_path()
    if archive.exists():
        return archive
    print("lab: making the class archive for Spark, once per machine", file=sys.stderr, flush=True)
    with scratch_directory() as scratch, Kafka() as kafka, S3() as s3:
        kafka.create_topic(_TOPIC, partitions=2)
        kafka.produce(_TOPIC, ((n % 2, b"k", str(n).encode(), 0) for n in range(100)))
        half_made = scratch / "classes.jsa"
        jvm = (*CHEAP_JVM, f"-XX:ArchiveClassesAtExit={half_made}", "-Xlog:cds=off")
        variables = environment(scratch, s3.spark_settings(), jvm=jvm)
        program = [str(_PROGRAM), kafka.address, _TOPIC]
        Driver(program, environment=variables, directory=scratch).run_to_end()
        beside = archive.with_suffix(f".{os.getpid()}")
        shutil.copy(half_made, beside)
        beside.rename(archive)  # whole or not there
    return archive
