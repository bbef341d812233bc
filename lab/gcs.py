"""Google Cloud Storage: fake-gcs-server, built by Go, behind a proxy that speaks obstore's API.

An emulator by other people than Google, not the service. It differs where a test could be misled:

- That an object is created for one of two writers only is the emulator's own doing: a lock around
  looking and creating. It shows that Holdfast asks for it and takes the answer, not what Google's
  servers do. `lab.gcs_proxy` hands the condition on and decides nothing.
- It cannot move an object. Google's connector then renames by a copy and a deletion, as it did
  before 3.0, and the emulator ignores the condition of a copy.
- It lists everything in one answer: pages, and a listing that begins after a name, are not tried.
- Every credential is right: no roles, no OAuth, no signatures. Nothing is slowed down or limited.
- Everything is in its memory: a crash loses it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import ClassVar, Self
from urllib.error import URLError
from urllib.request import Request

from lab.cache import cached
from lab.errors import InstallFailedError
from lab.gcs_proxy import GcsProxy
from lab.jars import fetch_jars
from lab.server import Server, free_ports, send_unless_done
from lab.tools import find_tool

BUCKET = "lake"
_PROGRAM = "fake-gcs-server"
_VERSION = "v1.56.1"
_MODULE = f"github.com/fsouza/{_PROGRAM}@{_VERSION}"
_SIZES = {
    "fs.gs.block.size": str(64 << 20),
    "fs.gs.rewrite.max.chunk.size": str(512 << 20),
    "fs.gs.outputstream.buffer.size": str(8 << 20),
    "fs.gs.inputstream.inplace.seek.limit": str(8 << 20),
    "fs.gs.inputstream.min.range.request.size": str(2 << 20),
}
"""Hadoop 3.5, which has a connector of its own, has defaults like `64m`: Google's fails at them."""


class Gcs(Server):
    """A store with one bucket, `lake`; `address` is its endpoint, for both of Google's APIs."""

    name: ClassVar[str] = "gcs"

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__(directory)
        (self._port,) = free_ports(1)
        self._proxy = GcsProxy(self._port)

    @property
    def address(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self._proxy.port}"

    @property
    def root(self) -> str:
        """The bucket, as Spark takes it."""
        return f"gs://{BUCKET}"

    def spark_settings(self) -> dict[str, str]:
        """Return the settings with which Spark, and so Holdfast, reaches it.

        Nobody signs: a client that looked for credentials would ask Google's metadata server.
        """
        connector = "com.google.cloud.hadoop.fs.gcs.GoogleHadoop"
        settings = {
            "fs.gs.impl": f"{connector}FileSystem",
            "fs.AbstractFileSystem.gs.impl": f"{connector}FS",
            "fs.gs.storage.root.url": self.address,
            "fs.gs.auth.type": "UNAUTHENTICATED",
            "fs.gs.project.id": "lab",
            "fs.gs.operation.move.enable": "false",
            **_SIZES,
        }
        return {
            "spark.jars": ",".join(map(str, fetch_jars("gcs"))),
            **{f"spark.hadoop.{name}": value for name, value in settings.items()},
        }

    def __enter__(self) -> Self:
        self._proxy.__enter__()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._proxy.__exit__()

    def _prepare(self) -> None:
        """Prepare nothing: it keeps no files."""

    def _command(self) -> list[str]:
        return [
            str(install_fake_gcs_server() / _PROGRAM),
            *("-scheme", "http", "-host", "127.0.0.1", "-port", str(self._port)),
            *("-backend", "memory", "-log-level", "error"),
            # Requests to this host are of the XML API.
            *("-public-host", "127.0.0.1"),
        ]

    def _answers(self) -> bool:
        try:
            self._create_bucket()
        except (URLError, OSError):
            return False
        return True

    def _create_bucket(self) -> None:
        """Create the bucket; that it is there is no error."""
        request = Request(  # noqa: S310 - its own
            f"{self.address}/storage/v1/b?project=lab",
            data=json.dumps({"name": BUCKET}).encode(),
            headers={"Content-Type": "application/json"},
        )
        send_unless_done(request)


def install_fake_gcs_server() -> Path:
    """Return the directory with the emulator; the first call builds it, which takes minutes.

    Raises:
        ToolMissingError: Go is not installed.
        InstallFailedError: Go could not build it; carries what it said.
    """
    return cached(f"{_PROGRAM}-{_VERSION}", _build)


def _build(directory: Path) -> None:
    """Build it from its source, whose checksum Go verifies."""
    command = [find_tool("go"), "install", _MODULE]
    ended = subprocess.run(
        command,
        env={**os.environ, "GOBIN": str(directory)},
        check=False,
        capture_output=True,
        text=True,
    )
    if ended.returncode != 0:
        raise InstallFailedError(f"go install {_MODULE}", said=ended.stderr)
