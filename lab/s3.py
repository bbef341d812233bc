"""A real S3 server: SeaweedFS, from its PyPI package."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import ClassVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from lab.server import Server, free_ports

ACCESS_KEY = "lab"
SECRET_KEY = "loopback-only"  # noqa: S105 - guards nothing but a scratch server on 127.0.0.1
READER = "reader"
"""Access key of somebody who may list and read the bucket and nothing else; the same secret."""
REGION = "us-east-1"
BUCKET = "lake"

_ROLES = ("master", "volume", "filer", "s3")


class S3(Server):
    """An S3 server with one bucket, `lake`; `address` is its endpoint."""

    name: ClassVar[str] = "s3"
    stop_signal: ClassVar[signal.Signals] = signal.SIGKILL  # it takes 15 s to end on SIGTERM

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__(directory)
        ports = free_ports(2 * len(_ROLES))
        self._ports = dict(zip(_ROLES, ports[: len(_ROLES)], strict=True))
        self._grpc_ports = dict(zip(_ROLES, ports[len(_ROLES) :], strict=True))

    @property
    def port(self) -> int:
        """The port S3 requests go to."""
        return self._ports["s3"]

    @property
    def address(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def store(self) -> S3Store:
        """Return a client of the bucket that needs no Spark."""
        return S3Store(
            BUCKET,
            endpoint=self.address,
            access_key_id=ACCESS_KEY,
            secret_access_key=SECRET_KEY,
            region=REGION,
            client_options={"allow_http": True, "timeout": "5s"},
            retry_config={"max_retries": 0},
        )

    def spark_settings(self, *, port: int | None = None) -> dict[str, str]:
        """Return the settings with which Spark reaches it, also through a proxy's port."""
        prefix = "spark.hadoop.fs.s3a."
        return {
            prefix + "endpoint": f"http://127.0.0.1:{port or self.port}",
            prefix + "access.key": ACCESS_KEY,
            prefix + "secret.key": SECRET_KEY,
            prefix + "endpoint.region": REGION,
            prefix + "path.style.access": "true",
        }

    def stop(self) -> None:
        """End it, and remove the sockets it leaves in a place it does not let us choose."""
        super().stop()
        for port in (*self._ports.values(), *self._grpc_ports.values()):
            for socket in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):  # noqa: S108
                socket.unlink(missing_ok=True)

    def _prepare(self) -> None:
        (self.directory / "data").mkdir(exist_ok=True)
        rights = {
            ACCESS_KEY: ["Admin", "Read", "Write", "List", "Tagging"],
            READER: [f"Read:{BUCKET}", f"List:{BUCKET}"],
        }
        identities = [
            {
                "name": key,
                "credentials": [{"accessKey": key, "secretKey": SECRET_KEY}],
                "actions": actions,
            }
            for key, actions in rights.items()
        ]
        (self.directory / "s3.json").write_text(json.dumps({"identities": identities}))

    def _command(self) -> list[str]:
        ports = [f"-{role}.port={port}" for role, port in self._ports.items()]
        ports += [f"-{role}.port.grpc={port}" for role, port in self._grpc_ports.items()]
        return [
            # Beside the interpreter: that is where the package puts it, also without activation.
            str(Path(sys.executable).with_name("weed")),
            "server",
            "-dir=data",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",  # without it, it listens on every address
            "-s3",
            "-s3.config=s3.json",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-master.telemetry=false",
            # Alone, its master need not hold an election, which takes 10 s after a crash.
            "-master.peers=none",
            # One bucket takes several volumes at once; with the default of 8 a second finds none.
            "-master.volumeSizeLimitMB=64",
            "-volume.max=200",
            *ports,
        ]

    def _answers(self) -> bool:
        try:
            # The first write makes the bucket, and shows that master, volume and filer are up too.
            obstore.put(self.store(), "_lab/up", b"up")
        except BaseError:
            return False
        return True
