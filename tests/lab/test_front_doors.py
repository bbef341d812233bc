"""The lab's doors for a person: `up`, `check`, and what they say when something is missing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from lab.spark import archive_path, class_path
from tests.house.repository import ROOT

LAB = [sys.executable, "-m", "lab"]


def test_up_prints_addresses_that_answer_and_leaves_nothing_behind() -> None:
    with subprocess.Popen([*LAB, "up"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        killed_if_late = threading.Timer(120, lab.kill)
        killed_if_late.start()
        lines = [lab.stdout.readline().strip() for _ in range(5)]
        addresses = dict(line.split(maxsplit=1) for line in lines[:4])
        assert list(addresses) == ["kafka", "postgres", "s3", "spark"]
        with psycopg.connect(addresses["postgres"]) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        exports = Path(addresses["spark"].split()[1])
        assert f"export KAFKA={addresses['kafka']}\n" in exports.read_text()
        lab.send_signal(signal.SIGTERM)
        assert lab.wait() == 0
        killed_if_late.cancel()
    assert not exports.parent.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(addresses["postgres"], connect_timeout=2)


def test_check_says_which_server_failed_and_exits_non_zero(tmp_path: Path) -> None:
    """Without java there is no broker and no Spark; PostgreSQL and S3 are still checked."""
    for tool in ("sh", "uname"):
        (tmp_path / tool).symlink_to(f"/bin/{tool}")
    checked = subprocess.run(
        [*LAB, "check"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert checked.returncode == 1
    lines = checked.stdout.splitlines()
    verdicts = dict(re.findall(r"^(\w+) .*(ok|failed)$", checked.stdout, re.MULTILINE))
    assert verdicts == {
        "kafka": "failed",
        "postgres": "ok",
        "pgbouncer": "ok",
        "s3": "ok",
        "spark": "failed",
    }, lines
    assert "apt-get install openjdk-17-jre-headless" in checked.stdout


@pytest.mark.usefixtures("class_archive")
def test_the_class_archive_fits_the_class_path() -> None:
    """With `-Xshare:on` java refuses to start when the archive does not fit."""
    jars = ":".join(map(str, class_path()))
    options = ["-XX:+UseSerialGC", "-Xshare:on", f"-XX:SharedArchiveFile={archive_path()}"]
    command = ["java", *options, "-cp", jars, "-version"]
    java = subprocess.run(command, check=False, capture_output=True, text=True)
    assert java.returncode == 0, java.stdout + java.stderr
