"""A standalone Spark cluster on this machine: a master and two workers, each on its own host.

Executors are processes of their own here, and outlive a killed driver until the cluster notices.
The hosts are 127.0.0.1 and 127.0.0.2: Spark runs the second copy of a slow task on another host
only, which `local-cluster` never has.

    with Cluster() as cluster:
        environment(directory, cluster.settings(executors={"READINGS_DSN": dsn}))
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Self
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from lab.jars import fetch_jars
from lab.server import Server, free_ports
from lab.spark import CHEAP_JVM, class_path, spark_home
from lab.tools import find_tool

HOSTS = ("127.0.0.1", "127.0.0.2")
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Master(Server):
    """The master; `address` is what drivers connect to."""

    name: ClassVar[str] = "spark-master"

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__(directory)
        self.port, self.page = free_ports(2)

    @property
    def address(self) -> str:
        """The cluster's address."""
        return f"spark://127.0.0.1:{self.port}"

    def workers(self) -> int:
        """Return how many workers are registered; 0 while it does not answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=2) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (URLError, OSError, ValueError):
            return 0

    def _prepare(self) -> None:
        """Need nothing."""

    def _command(self) -> list[str]:
        ports = ["--port", str(self.port), "--webui-port", str(self.page)]
        return _java("127.0.0.1", "org.apache.spark.deploy.master.Master", *ports)

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=2):
                return True
        except (URLError, OSError):
            return False


class Worker(Server):
    """A worker, which starts executors below itself."""

    name: ClassVar[str] = "spark-worker"

    def __init__(self, master: Master, host: str) -> None:
        super().__init__(None)
        self._master = master
        self._host = host
        self._others = 0

    @property
    def address(self) -> str:
        """Its host."""
        return self._host

    def executors(self) -> list[psutil.Process]:
        """Return the executors that it has started and that live."""
        return [each for each in self._tree() if is_executor(each)]

    def _prepare(self) -> None:
        self._others = self._master.workers()

    def _command(self) -> list[str]:
        options = ["--host", self._host, "--webui-port", "0", "--cores", "4", "--memory", "4g"]
        options += ["--work-dir", str(self.directory / "work"), self._master.address]
        return _java(self._host, "org.apache.spark.deploy.worker.Worker", *options)

    def _answers(self) -> bool:
        return self._master.workers() > self._others


class Cluster:
    """A master and its workers; a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.master = Master()
        self.workers = [Worker(self.master, host) for host in HOSTS]

    def settings(self, *, executors: Mapping[str, str]) -> dict[str, str]:
        """Return a driver's settings: one executor with one core per worker.

        Args:
            executors: Environment variables that executors see.
        """
        return {
            **executor_settings(executors),
            "spark.master": self.master.address,
            "spark.cores.max": str(len(HOSTS)),
            "spark.executor.cores": "1",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        }

    def __enter__(self) -> Self:
        with ExitStack() as started:
            for server in (self.master, *self.workers):
                started.enter_context(server)
            self._stack = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def executor_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of executors that are processes of their own, with their environment."""
    found = {f"spark.executorEnv.{name}": value for name, value in variables.items()}
    return {
        **found,
        "spark.executor.memory": "512m",
        "spark.executor.extraClassPath": ":".join(map(str, fetch_jars("spark"))),
        "spark.executor.extraJavaOptions": " ".join(CHEAP_JVM),
    }


def is_executor(process: psutil.Process) -> bool:
    """Return whether a process is the JVM of an executor."""
    try:
        return _EXECUTOR in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def executor_of(worker: psutil.Process) -> psutil.Process:
    """Return the JVM of the executor that a Python process belongs to."""
    (found,) = filter(is_executor, worker.parents())
    return found


def _java(host: str, main: str, *arguments: str) -> list[str]:
    """Return the command of one of Spark's servers, with what its executors inherit."""
    variables = {
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": host,
        "SPARK_SCALA_VERSION": "2.13",  # else Spark looks for a build of itself
        "PYSPARK_PYTHON": sys.executable,
    }
    given = [f"{name}={value}" for name, value in variables.items()]
    jars = ":".join(map(str, class_path()))
    java = [find_tool("java"), *CHEAP_JVM, "-Xmx256m", "-cp", jars]
    return ["/usr/bin/env", *given, *java, main, *arguments]
