"""Azure's blob storage: Azurite, Microsoft's own emulator, installed by npm from a lock file.

An emulator, not the service: it has accounts without a hierarchy only, and no OAuth, no roles and
no networks. What it does with conditions of a request is what the service documents.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar
from urllib.error import URLError
from urllib.request import Request

from lab.cache import cached, sha256_of_file
from lab.errors import InstallFailedError
from lab.server import Server, free_ports, send_unless_done
from lab.tools import find_tool

ACCOUNT = "devstoreaccount1"
# Published by Microsoft for every emulator.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
CONTAINER = "lake"
_PACKAGE = Path(__file__).with_name("azurite_package")
_VERSION = "2021-08-06"


class Azurite(Server):
    """A blob store with one container, `lake`; `address` is the endpoint of its account."""

    name: ClassVar[str] = "azurite"

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__(directory)
        (self._port,) = free_ports(1)

    @property
    def address(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self._port}/{ACCOUNT}"

    @property
    def root(self) -> str:
        """The container, as Spark takes it; without TLS, so not `abfss`."""
        return f"abfs://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net"

    def spark_settings(self) -> dict[str, str]:
        """Return the settings with which Spark, and so Holdfast, reaches it."""
        settings = {
            "abfs.endpoint": f"127.0.0.1:{self._port}",
            "always.use.https": "false",
            "account.hns.enabled": "false",
            "fns.account.service.type": "BLOB",
            "account.auth.type": "SharedKey",
            f"account.key.{ACCOUNT}.dfs.core.windows.net": KEY,
            "createRemoteFileSystemDuringInitialization": "false",
            "networking.library": "JDK_HTTP_URL_CONNECTION",
        }
        return {f"spark.hadoop.fs.azure.{name}": value for name, value in settings.items()}

    def _prepare(self) -> None:
        (self.directory / "data").mkdir(exist_ok=True)

    def _command(self) -> list[str]:
        script = install_azurite() / "node_modules/azurite/dist/src/blob/main.js"
        return [
            *(find_tool("node"), str(script), "--disableTelemetry", "--silent"),
            *("--blobHost", "127.0.0.1", "--blobPort", str(self._port)),
            *("--location", str(self.directory / "data"), "--skipApiVersionCheck"),
        ]

    def _answers(self) -> bool:
        try:
            self._create_container()
        except (URLError, OSError):
            return False
        return True

    def _create_container(self) -> None:
        """Create the container; that it is there is no error."""
        date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
        headers = {"x-ms-date": date, "x-ms-version": _VERSION}
        given = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        signed = f"PUT{chr(10) * 12}{given}/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
        digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        url = f"{self.address}/{CONTAINER}?restype=container"
        request = Request(url, method="PUT", data=b"", headers=headers)  # noqa: S310 - its own
        request.add_unredirected_header("Content-Type", "")
        send_unless_done(request)


def install_azurite() -> Path:
    """Return the directory with Azurite; the first call installs it."""
    lock = _PACKAGE / "package-lock.json"
    return cached(f"azurite-{sha256_of_file(lock)[:12]}", _install)


def _install(directory: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_PACKAGE / name, directory / name)
    options = ["--no-audit", "--no-fund", "--ignore-scripts"]
    ended = subprocess.run(
        [find_tool("npm"), "ci", *options],
        cwd=directory,
        check=False,
        capture_output=True,
        text=True,
    )
    if ended.returncode != 0:
        raise InstallFailedError("npm ci", said=ended.stderr)
