"""A Spark Connect server whose Python has Holdfast, and clients of it: processes of their own.

The server's workers and the clients need packages that nothing else here needs (`lab.pipelines`).
A worker is a child of the server. What a test wants of it (to die at a point, to be paused) is in
the file `strike` of the server's directory, which `programs/connect_worker` reads there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, ClassVar

import psutil

from lab.cluster import executor_settings, is_executor
from lab.pipelines import PipelineServer, client_packages
from lab.spark import OWN, Installation

_ROOT = Path(__file__).parents[1]
_WORKER = _ROOT / "lab" / "programs" / "connect_worker"
_MODULE = "foreach_batch_worker"


class ConnectServer(PipelineServer):
    """A Spark Connect server for guarded streams; `address` is what a client connects to."""

    name: ClassVar[str] = "connect"

    def __init__(  # noqa: PLR0913 - what a server has and lacks, each by name
        self,
        directory: Path | None = None,
        *,
        variables: Mapping[str, str] | None = None,
        has_executors: bool = False,
        has_holdfast: bool = True,
        settings: Mapping[str, str] | None = None,
        installation: Installation = OWN,
    ) -> None:
        super().__init__(directory)
        self._variables = dict(variables or {})
        self._has_executors = has_executors
        self._has_holdfast = has_holdfast
        self._more_settings = dict(settings or {})
        self.installation = installation

    @property
    def strike(self) -> Path:
        """What happens to the next worker: `POINT NTH worker|server KILL|STOP`."""
        return self.directory / "strike"

    @property
    def struck(self) -> Path:
        """Is written before it happens: the process of the worker."""
        return self.directory / "struck"

    def aim(self, point: str, nth: int, *, victim: str = "worker", signal: str = "KILL") -> None:
        """Say what happens when the next worker comes by a point."""
        self.struck.unlink(missing_ok=True)
        self.strike.write_text(f"{point} {nth} {victim} {signal}")

    def workers(self) -> list[psutil.Process]:
        """Return the processes that run functions of queries."""
        return [each for each in self._tree() if _MODULE in " ".join(each.cmdline())]

    @property
    def process(self) -> psutil.Process:
        """The server's own process."""
        return self._tree()[0]

    def executors(self) -> list[psutil.Process]:
        """Return the executors that are processes of their own."""
        return [each for each in self._tree() if is_executor(each)]

    def _settings(self) -> dict[str, str]:
        found = super()._settings() | self._more_settings
        if self._has_executors:
            found |= executor_settings({}) | {"spark.master": "local-cluster[2,1,512]"}
        return found

    def _command(self) -> list[str]:
        # Holdfast is installed in this Python too: only a module in its way hides it.
        first = _WORKER if self._has_holdfast else _WORKER.with_name("connect_without_holdfast")
        path = os.pathsep.join([str(first), python_path()])
        given = {"PYTHONPATH": path, "HOLDFAST_LAB_STRIKE": str(self.strike), **self._variables}
        if self._has_executors:
            given["SPARK_SCALA_VERSION"] = "2.13"  # else Spark looks for a build of itself
        env, *rest = super()._command()
        return [env, *(f"{name}={value}" for name, value in given.items()), *rest]


def python_path() -> str:
    """Return what a client or a worker imports from, beside this environment."""
    return os.pathsep.join([str(_ROOT / "src"), str(_ROOT), client_packages()])


def start_client(
    program: Path,
    *arguments: str,
    variables: Mapping[str, str],
    log: IO[bytes],
    installation: Installation = OWN,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a program that talks to a server, in a process of its own."""
    command: Sequence[str] = [str(installation.python), str(program), *arguments]
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=log,
        stderr=log,
        env={**os.environ, "PYTHONPATH": python_path(), **variables},
    )
