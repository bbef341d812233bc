"""The class archive is what a JVM writes last: on a busy machine long after Python is done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab import warm_up
from lab.errors import WarmUpFailedError
from lab.programs.warm_up import end
from lab.spark import Installation

AT_EXIT = "-XX:ArchiveClassesAtExit="
WRITES_WHEN_ITS_PARENT_IS_GONE = """
import os, sys
from pathlib import Path
reading, writing = os.pipe()
if os.fork():
    os._exit(0)
os.close(writing)
os.read(reading, 1)  # nothing comes; it ends when the parent has ended
Path(os.environ["ARCHIVE"]).write_text("classes")
"""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the archive belongs; the program is told by ARCHIVE where to write it."""

    def environment(_: Path, __: object, *, jvm: tuple[str, ...], **___: Any) -> Mapping[str, str]:
        (given,) = (option for option in jvm if option.startswith(AT_EXIT))
        return {"ARCHIVE": given.removeprefix(AT_EXIT)}

    monkeypatch.setattr(warm_up, "environment", environment)
    monkeypatch.setattr(warm_up, "archive_path", lambda _: tmp_path / "classes.jsa")
    monkeypatch.setattr(warm_up, "_PROGRAM", tmp_path / "program.py")
    return tmp_path / "classes.jsa"


def ensure(program: str, archive: Path) -> Path:
    (archive.parent / "program.py").write_text(program)
    python = Path(sys.executable)
    other = Installation(python=python, package=archive.parent, connectors="spark-4.0")
    return warm_up.ensure_archive(other)


def test_an_archive_that_is_written_after_python_has_ended_is_waited_for(archive: Path) -> None:
    assert ensure(WRITES_WHEN_ITS_PARENT_IS_GONE, archive) == archive
    assert archive.read_text() == "classes"


def test_a_run_that_leaves_no_archive_says_so(archive: Path) -> None:
    with pytest.raises(WarmUpFailedError, match="wrote no archive"):
        ensure("", archive)
    assert not archive.exists()


def test_the_program_waits_until_its_jvm_has_written_the_archive(tmp_path: Path) -> None:
    written = tmp_path / "classes.jsa"
    dumping = "import sys, pathlib; sys.stdin.read(); pathlib.Path(sys.argv[1]).write_text('all')"
    java = subprocess.Popen(
        [sys.executable, "-c", dumping, str(written)], stdin=subprocess.PIPE, text=True
    )
    gateway = SimpleNamespace(_gateway=SimpleNamespace(proc=java))
    spark: Any = SimpleNamespace(sparkContext=gateway, stop=lambda: None)
    end(spark)
    assert java.returncode == 0
    assert written.read_text() == "all"
