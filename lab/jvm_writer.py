"""A program in Java that writes by `format("holdfast")`; Scala's calls are the same methods."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lab.cache import cached, sha256_of_text
from lab.errors import InstallFailedError
from lab.spark import class_path
from lab.tools import find_tool

_SOURCE = Path(__file__).parent / "programs" / "jvm_writer" / "WriteReadings.java"
MAIN = _SOURCE.stem


def writer_jar() -> Path:
    """Return the program in the cache, compiled when its source is new."""
    name = f"jvm-writer-{sha256_of_text(_SOURCE.read_text(), *map(str, class_path()))}"
    return cached(name, _compile) / "writer.jar"


def _compile(home: Path) -> None:
    classes = home / "classes"
    jars = ":".join(map(str, class_path()))
    command = [find_tool("javac"), "-cp", jars, "-d", str(classes), str(_SOURCE)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode != 0:
        raise InstallFailedError("javac", said=ended.stdout + ended.stderr)
    made = shutil.make_archive(str(home / "writer"), "zip", classes)  # which is what a jar is
    Path(made).rename(home / "writer.jar")
