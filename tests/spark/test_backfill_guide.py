"""The guide to backfills: its module, its commands, its program and what they print."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run
from holdfast.named import load_named
from lab import Kafka
from tests.house.repository import ROOT
from tests.spark.backfill_gap import until

PAGE = (ROOT / "docs/guides/backfill.md").read_text()
MODULE, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(PLANNED, DONE) = re.findall(r"```console\n\$ holdfast (.*?)\n(.*?)```", PAGE, re.DOTALL)
(BAR,) = re.findall(r"```text\n\[.*?\](.*?), about .*?```", PAGE, re.DOTALL)


@pytest.fixture
def topic(kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The topic of the page under another name; its files are in the current directory."""
    name = f"guide-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=2)
    here = re.sub(r'"(streams|lake/[a-z]+)"', rf'"{tmp_path}/\1"', MODULE)
    here = here.replace('"subscribe", "readings"', f'"subscribe", "{name}"')
    (tmp_path / "lake.py").write_text(here.replace("127.0.0.1:9092", kafka.address))
    (tmp_path / "program.py").write_text(PROGRAM.replace('"readings": {', f'"{name}": {{'))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop("lake", None)


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

    def call(command: str) -> tuple[int, str, str]:
        arguments = shlex.split(command.replace('{"readings":', f'{{"{topic}":'))
        with pytest.raises(SystemExit) as ended:
            run(arguments)
        assert isinstance(ended.value.code, int)
        out, err = capsys.readouterr()
        for found, written in ((topic, "readings"), (str(tmp_path) + "/", "")):
            out = out.replace(found, written)
        return ended.value.code, re.sub(r"-[0-9a-f]{8}\b", "-7c1f04ab", out), err

    produce(range(1_200))
    (query,) = load_named("lake:lake").start(spark).values()
    until((tmp_path / "streams/readings/sources/0/0").exists)
    produce(range(1_200, 1_300))
    until(lambda: sum(rows().values()) == 100)
    capsys.readouterr()
    code, out, _ = call(PLANNED[0])
    assert (code, out) == (ExitCode.DONE, PLANNED[1])
    assert sum(rows().values()) == 100
    code, out, err = call(DONE[0])
    assert (code, out) == (ExitCode.DONE, DONE[1])
    assert BAR in err
    runpy.run_path(str(tmp_path / "program.py"), run_name="__main__")  # it is there already
    query.stop()
    assert rows() == Counter(range(1_300))
