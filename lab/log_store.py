"""The jar with the LogStore for S3: compiled from `log_store/`, byte for byte the same every time.

`python -m lab.log_store DIRECTORY` puts it there, as `make wheel` does beside the wheel. It is
compiled against the jars of the lab, for Java 8, which is the oldest that Spark 3.5 runs on.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from holdfast.version import __version__
from lab.cache import cached, sha256_of_file, sha256_of_text
from lab.errors import InstallFailedError
from lab.jars import fetch_jars
from lab.spark import class_path
from lab.tools import find_tool

SOURCES = Path(__file__).parents[1] / "log_store"
NAME = f"holdfast-delta-log-store-{__version__}.jar"
_NEEDED = ("delta-storage", "hadoop-client-api")
_RELEASE = "8"
_ENTRY_TIME = (1980, 1, 1, 0, 0, 0)
"""The oldest that a jar can have."""


def log_store_jar() -> Path:
    """Return the jar in the cache, compiled when its source is new.

    Raises:
        ToolMissingError: There is no `javac`.
        InstallFailedError: It does not compile.
    """
    sources = sorted(SOURCES.rglob("*.java"))
    name = f"log-store-{sha256_of_text(_RELEASE, *(each.read_text() for each in sources))}"
    return cached(name, lambda target: _build(sources, target)) / NAME


def _build(sources: list[Path], target: Path) -> None:
    classes = target / "classes"
    against = [*fetch_jars("spark-3.5"), *class_path()]  # Delta's oldest interface comes first
    jars = [str(each) for each in against if each.name.startswith(_NEEDED)]
    command = [find_tool("javac"), "--release", _RELEASE, "-Xlint:-options", "-Werror", "-g:source"]
    command += ["-d", str(classes), "-cp", ":".join(jars), *map(str, sources)]
    compiled = subprocess.run(command, check=False, capture_output=True, text=True)
    if compiled.returncode != 0:
        raise InstallFailedError("javac", said=compiled.stdout + compiled.stderr)
    with ZipFile(target / NAME, "w") as jar:
        _add(jar, "META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n")
        for each in sorted(classes.rglob("*.class")):
            _add(jar, str(each.relative_to(classes)), each.read_bytes())
    shutil.rmtree(classes)


def _add(jar: ZipFile, name: str, content: bytes) -> None:
    entry = ZipInfo(name, date_time=_ENTRY_TIME)
    entry.compress_type = ZIP_DEFLATED
    jar.writestr(entry, content)


if __name__ == "__main__":
    destination = Path(sys.argv[1]) / NAME
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(log_store_jar(), destination)
    print(f"{destination}: {destination.stat().st_size} bytes, {sha256_of_file(destination)}")
