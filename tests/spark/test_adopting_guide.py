"""The guide to adopting: its program runs, its refusal is the real one, the way back is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from holdfast.streams.refusal import StartRefusedError
from tests.house.repository import ROOT
from tests.spark.file_stream import TIME, Stream, remove, wait_until_given_up
from tests.spark.test_accepting import accept, refused

PAGE = (ROOT / "docs/guides/adopting.md").read_text()
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(ACCEPTING,) = re.findall(r"one start: `(accept=.*?)`", PAGE)
(REFUSAL,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)
(DIFF,) = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)
(QUESTION,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
PLAIN = """\
import os

from pyspark.sql import SparkSession


def save(batch, batch_id):
    batch.write.jdbc(os.environ["READINGS_URL"], "readings", mode="append")


spark = SparkSession.builder.getOrCreate()
readings = spark.readStream.format("text").load("/srv/in")
query = (
    readings.writeStream.foreachBatch(save)
    .queryName("readings")
    .option("checkpointLocation", "/srv/old/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
"""
FOUND = 1


@pytest.fixture
def old(stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkpoint of the page: killed when batch 2 was written and not committed."""
    checkpoint = tmp_path / "old/checkpoint"
    stream.run_unguarded(checkpoint)
    remove(checkpoint / "commits/2")
    monkeypatch.setenv("READINGS_DSN", stream.dsn)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/readings.py").write_text(PLAIN.replace("/srv", str(tmp_path)))
    for each in checkpoint.rglob("*"):  # it was stopped long ago
        os.utime(each, (TIME, TIME))
    return checkpoint


def follow(stream: Stream, more: str = "") -> None:
    """Run the program of the page, with one more argument."""
    here = PROGRAM.replace("    trigger=", f"    {more}trigger=")
    try:
        exec(compile(here.replace("/srv", str(stream.root.parent)), "adopting.md", "exec"), {})
    finally:
        wait_until_given_up()


def without_nonces(text: str) -> str:
    """They follow from where the checkpoint is."""
    return re.sub(r"(HF[0-9]{3}):[0-9a-f]{4}", r"\1:…", text)


def adopt(stream: Stream) -> None:
    """Follow the page from its first start to the last."""
    with pytest.raises(StartRefusedError) as found:
        follow(stream)
    told = str(found.value).replace(str(stream.root.parent), "/srv")
    assert without_nonces(told) == without_nonces(REFUSAL.strip())
    said = re.sub(
        r"(HF[0-9]{3}):\w{4}", lambda each: f"{each[1]}:{found.value.nonces[each[1]]}", ACCEPTING
    )
    follow(stream, f"{said}, ")


def test_the_guide_is_followed(stream: Stream, old: Path) -> None:
    for command, shown in COMMANDS:
        here = command.replace("/srv", str(old.parents[1])).split()
        here[0] = str(Path(sys.executable).with_name(here[0])) if here[0] == "holdfast" else here[0]
        ran = subprocess.run(here, check=False, capture_output=True, text=True)
        assert ran.returncode == (FOUND if "adopt" in here else 0)
        said = ran.stdout.replace(str(old.parents[1]), "/srv")
        assert said.startswith(shown.rstrip().removesuffix("…"))
        assert said.endswith(DIFF) or "adopt" not in here
    with psycopg.connect(stream.dsn) as connection:
        assert connection.execute(QUESTION.encode()).fetchall() == [(1,)]
    stream.add(3)
    adopt(stream)
    stream.add(4)
    follow(stream)
    assert stream.rows() == [f"row {number}" for number in range(5)]


@pytest.mark.parametrize("is_kept", [True, False])
def test_plain_spark_goes_on_from_it_and_the_way_back_is_as_it_says(
    stream: Stream, old: Path, *, is_kept: bool
) -> None:
    adopt(stream)
    stream.add(3)
    stream.run_unguarded(old)
    assert stream.rows() == [f"row {number}" for number in range(4)]
    if not is_kept:
        shutil.rmtree(stream.root / "_holdfast/readings")
        stream.execute("DELETE FROM holdfast.ledger WHERE stream = 'readings'")
    code = "HF603" if is_kept else "HF610"
    error = refused(stream, checkpoint=str(old))
    assert [finding.code for finding in error.findings] == [code]
    stream.add(4)
    stream.run(checkpoint=str(old), accept=accept(error, code))
    assert stream.rows() == [f"row {number}" for number in range(5)]


def test_a_wrong_checkpoint_binds_nothing(stream: Stream, old: Path) -> None:
    other = old.parent / "other"
    stream.run_unguarded(other)
    refused(stream, checkpoint=str(other))
    adopt(stream)
