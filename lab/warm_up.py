"""Makes the class data sharing archive: one real run of everything the lab's drivers do.

Classes reach the archive by being loaded, so the run reads Kafka, keeps state, writes Delta by
append and MERGE on s3a and calls foreachBatch; then it ends normally, which is when the JVM writes
the archive. Other versions of Spark have files instead of Kafka and S3.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast.drills.builtin.cells import STATES
from holdfast.drills.builtin.workload import write_files
from lab.errors import WarmUpFailedError
from lab.kafka import Kafka
from lab.s3 import S3
from lab.scratch import scratch_directory
from lab.spark import CHEAP_JVM, OWN, Installation, archive_path, environment

_PROGRAM = Path(__file__).with_name("programs") / "warm_up.py"
_TOPIC = "warm-up"


def ensure_archive(installation: Installation = OWN) -> Path:
    """Return the archive, made when the cache does not have it (about a minute, once).

    Raises:
        WarmUpFailedError: Spark did not run to its end, or wrote no archive.
    """
    archive = archive_path(installation)
    if archive.exists():
        return archive
    print(
        f"lab: making the class archive for {installation.connectors}, once per machine",
        file=sys.stderr,
        flush=True,
    )
    with scratch_directory() as scratch:
        half_made = scratch / "classes.jsa"
        if installation.has_s3a:
            _run_on_servers(installation, scratch, half_made)
        else:
            _run_on_files(installation, scratch, half_made)
        if not half_made.exists():
            raise WarmUpFailedError(installation.connectors, said="The JVM wrote no archive.")
        beside = archive.with_suffix(f".{os.getpid()}")
        shutil.copy(half_made, beside)
        beside.rename(archive)  # whole or not there
    return archive


def _run_on_servers(installation: Installation, scratch: Path, archive: Path) -> None:
    with Kafka() as kafka, S3() as s3:
        kafka.create_topic(_TOPIC, partitions=2)
        kafka.produce(_TOPIC, ((n % 2, b"k", str(n).encode(), 0) for n in range(100)))
        variables = _environment(
            installation, s3.spark_settings(), scratch=scratch, archive=archive
        )
        _run(installation, ["s3a://lake/warm-up", kafka.address, _TOPIC], variables)


def _run_on_files(installation: Installation, scratch: Path, archive: Path) -> None:
    write_files(scratch / "files", files=2)
    settings = STATES["rocksdb"]
    variables = _environment(installation, settings, scratch=scratch, archive=archive)
    _run(installation, [str(scratch)], variables)


def _environment(
    installation: Installation, settings: Mapping[str, str], *, scratch: Path, archive: Path
) -> dict[str, str]:
    jvm = (*CHEAP_JVM, f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:cds=off")
    return environment(scratch / "spark", settings, jvm=jvm, installation=installation)


def _run(installation: Installation, arguments: list[str], variables: dict[str, str]) -> None:
    ended = subprocess.run(
        [str(installation.python), str(_PROGRAM), *arguments],
        check=False,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if ended.returncode != 0:
        raise WarmUpFailedError(installation.connectors, said=ended.stdout)
