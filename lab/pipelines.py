"""Spark Declarative Pipelines: a Spark Connect server, and `spark-pipelines` runs against it.

One server keeps its catalog in memory, so that the tables of a pipeline are there in its next run.
The client needs packages that nothing else here needs; they stand in an environment of their own,
and PySpark itself is the one of this Python.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lab.cache import sha256_of_text
from lab.environments import make_environment
from lab.server import Server, free_ports
from lab.spark import OWN, Installation, environment, spark_home

_CLIENT = Path(__file__).parents[1] / "requirements" / "pipelines.txt"
"""What PySpark's extra `pipelines` asks for, beside pandas and pyarrow."""
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_RUN_SECONDS = 180
_SPEC = """\
name: {name}
storage: file://{storage}
libraries:
  - glob:
      include: transformations/**
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How one run of a pipeline ended."""

    returncode: int
    said: str

    @property
    def is_completed(self) -> bool:
        """Whether it told that the run is complete."""
        return "Run is COMPLETED" in self.said


class PipelineServer(Server):
    """A Spark Connect server for pipelines; `address` is what a client connects to."""

    name: ClassVar[str] = "pipelines"
    installation: Installation = OWN
    """The PySpark that it runs."""

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__(directory)
        (self.port,) = free_ports(1)

    @property
    def address(self) -> str:
        """Its URL, as `SPARK_REMOTE` takes it."""
        return f"sc://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> Path:
        """Where its tables are."""
        return self.directory / "warehouse"

    def run(
        self, project: Path, *, full_refresh: Sequence[str] = (), refresh_all: bool = False
    ) -> Ran:
        """Run the pipeline of a directory, as `spark-pipelines run` does.

        Args:
            project: Has `transformations/`; its `storage/` takes the checkpoints.
            full_refresh: Tables that are emptied and computed again.
            refresh_all: Whether everything is.

        Raises:
            TimeoutExpired: It did not end.
        """
        spec = project / "spark-pipeline.yml"
        spec.write_text(_SPEC.format(name=project.name, storage=project / "storage"))
        command = [sys.executable, "-m", "pyspark.pipelines.cli", "run", "--spec", str(spec)]
        if full_refresh:
            command += ["--full-refresh", ",".join(full_refresh)]
        if refresh_all:
            command.append("--full-refresh-all")
        ended = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_RUN_SECONDS,
            env={**os.environ, "SPARK_REMOTE": self.address, "PYTHONPATH": client_packages()},
        )
        return Ran(returncode=ended.returncode, said=ended.stdout)

    def _prepare(self) -> None:
        return

    def _command(self) -> list[str]:
        variables = environment(
            self.directory, self._settings(), log_level="error", installation=self.installation
        )
        given = [f"{name}={value}" for name, value in variables.items()]
        submit = spark_home(self.installation) / "bin" / "spark-submit"
        return ["env", *given, str(submit), "--class", _SERVER, "spark-internal"]

    def _settings(self) -> dict[str, str]:
        return {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.port),
        }

    def _answers(self) -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", self.port)) == 0


def client_packages() -> str:
    """Return where the client's packages are; the first call installs them."""
    name = f"pipelines-{sha256_of_text(sys.version, _CLIENT.read_text())}"
    python = make_environment(name, ["--require-hashes", "--requirement", str(_CLIENT)])
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    return str(packages)
