"""The other versions of Spark that Holdfast supports, each with a Python environment of its own.

The environment of development has the newest one. `make lock` resolves the requirements of the
others into `requirements/spark-<version>.txt`. They have Delta, 3.5 has Kafka too, and none has
s3a.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pyspark

from holdfast.drills.builtin.places import DSN_NAME
from holdfast.drills.summary import SummaryJson
from holdfast.spark_versions import SUPPORTED
from lab.cache import sha256_of_text
from lab.environments import make_environment
from lab.jars import spark_group
from lab.spark import OWN, Installation, environment

REPOSITORY = Path(__file__).parents[1]
OWN_VERSION = pyspark.__version__.rpartition(".")[0]
OTHER_VERSIONS = tuple(each for each in SUPPORTED if each != OWN_VERSION)
_PROGRAM = Path(__file__).with_name("programs") / "builtin_drills.py"


def requirements_of(version: str) -> Path:
    """Return the locked requirements of a version: PySpark, and what Holdfast itself needs."""
    return REPOSITORY / "requirements" / f"spark-{version}.txt"


def installation_of(version: str) -> Installation:
    """Return the PySpark of a version; the first call installs it, unless it is this Python's own.

    Raises:
        InstallFailedError: uv could not install it.
    """
    if version == OWN_VERSION:
        return OWN
    locked = requirements_of(version)
    name = f"spark-{version}-{sha256_of_text(sys.version, locked.read_text())}"
    python = make_environment(name, ["--require-hashes", "--requirement", str(locked)])
    (package,) = python.parents[1].glob("lib/python*/site-packages/pyspark")
    return Installation(python=python, package=package, connectors=spark_group(version))


def drill_builtin(
    installation: Installation,
    chains: Mapping[str, Sequence[str]],
    *,
    directory: Path,
    dsn: str,
) -> SummaryJson:
    """Run built-in drills in the Python of an installation, judge and drivers alike.

    Args:
        installation: The PySpark to run them on.
        chains: The built-in streams, and the points at which each one is killed, in turn.
        directory: Takes the drills and Spark's own files.
        dsn: A scratch database.

    Raises:
        CalledProcessError: The drills could not be run at all.
    """
    variables = {
        **environment(directory / "spark", {}, installation=installation),
        DSN_NAME: dsn,
        "PYTHONPATH": str(REPOSITORY / "src"),  # Holdfast itself is not installed there
    }
    command = [
        str(installation.python),
        str(_PROGRAM),
        str(directory / "drills"),
        json.dumps(chains),
    ]
    ended = subprocess.run(
        command, check=True, env={**os.environ, **variables}, stdout=subprocess.PIPE
    )
    return msgspec.json.decode(ended.stdout, type=SummaryJson)
