"""The guide to backfills: its module, its commands, its program and what they print."""

from __future__ import annotations

import re
import runpy
import shlex
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.cli.exit_codes import ExitCode
from holdfast.named import load_named
from lab import Kafka
from tests.calling import call
from tests.house.repository import ROOT
from tests.spark.backfill_gap import until
from tests.spark.guides import as_lake

PAGE = (ROOT / "docs/guides/backfill.md").read_text()
MODULE, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(PLANNED, DONE) = re.findall(r"```console\n\$ holdfast (.*?)\n(.*?)```", PAGE, re.DOTALL)
(BAR,) = re.findall(r"```text\n\[.*?\](.*?), about .*?```", PAGE, re.DOTALL)


@pytest.fixture
def topic(kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The topic of the page under another name; its files are in the current directory."""
    name = f"guide-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=2)
    here = MODULE.replace('"subscribe", "readings"', f'"subscribe", "{name}"')
    (tmp_path / "program.py").write_text(PROGRAM.replace('"readings": {', f'"{name}": {{'))
    with as_lake(here.replace("127.0.0.1:9092", kafka.address), tmp_path, monkeypatch):
        yield name


def test_the_commands_and_the_program_of_the_page(
    *,
    spark: SparkSession,
    kafka: Kafka,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def produce(numbers: range) -> None:
        kafka.produce(topic, ((each % 2, None, str(each).encode(), 0) for each in numbers))

    def rows() -> Counter[int]:
        table = spark.read.format("delta").load(str(tmp_path / "lake/readings"))
        return Counter(int(row.value) for row in table.collect())

    def call_shown(command: str) -> tuple[int, str, str]:
        arguments = shlex.split(command.replace('{"readings":', f'{{"{topic}":'))
        code, out, err = call(capsys, *arguments)
        for found, written in ((topic, "readings"), (str(tmp_path) + "/", "")):
            out = out.replace(found, written)
        out = re.sub(r"\b[0-9]{8}-[0-9]{6}-[0-9a-f]{6}\b", "20261118-040812-9d3c41", out)
        return code, re.sub(r"-[0-9a-f]{8}\b", "-7c1f04ab", out), err

    produce(range(1_200))
    (query,) = load_named("lake:lake").start(spark).values()
    until((tmp_path / "streams/readings/sources/0/0").exists)
    produce(range(1_200, 1_300))
    until(lambda: sum(rows().values()) == 100)
    capsys.readouterr()
    code, out, _ = call_shown(PLANNED[0])
    assert (code, out) == (ExitCode.DONE, PLANNED[1])
    assert sum(rows().values()) == 100
    code, out, err = call_shown(DONE[0])
    assert (code, out) == (ExitCode.DONE, DONE[1])
    assert BAR in err
    runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")  # it is there already
    query.stop()
    assert rows() == Counter(range(1_300))
