"""`holdfast facts`: all nine for a plain Delta stream, every partition, and where each was read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.exit_codes import ExitCode
from tests import calling
from tests.unit.cli.inspecting import unpack

Facts = Callable[..., tuple[int, dict[str, Any]]]
PROGRAM = """\
df = spark.readStream.format("kafka").load()
query = (
    df.writeStream.format("delta")
    .outputMode("append")
    .trigger(processingTime="10 seconds")
    .option("checkpointLocation", {checkpoint!r})
    .start({table!r})
)
"""


@pytest.fixture
def facts(capsys: pytest.CaptureFixture[str]) -> Facts:
    def call(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        given = [*map(str, arguments), "--format", "json"]
        code, out, _ = calling.call(capsys, "facts", *given)
        return code, json.loads(out)

    return call


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return unpack("4.2-kafka", tmp_path)


def query_id(checkpoint: Path) -> str:
    return str(json.loads((checkpoint / "metadata").read_text())["id"])


def delta_table(place: Path, query: str, *engines: str, mode: Any = "Append") -> Path:
    """A Delta table with one commit of the query for each engine."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    for batch, engine in enumerate(engines):
        info = {
            "operation": "STREAMING UPDATE",
            "operationParameters": {"outputMode": mode, "queryId": query, "epochId": str(batch)},
            "engineInfo": engine,
        }
        txn = {"appId": query, "version": batch}
        lines = (json.dumps({"commitInfo": info}), json.dumps({"txn": txn}))
        (log / f"{batch:020d}.json").write_text("\n".join(lines) + "\n")
    return place


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in found["facts"]}


def test_nine_of_nine_are_known_of_a_plain_delta_stream(
    facts: Facts, checkpoint: Path, tmp_path: Path
) -> None:
    spark = "Apache-Spark/4.2.1 Delta-Lake/4.4.1"
    table = delta_table(tmp_path / "lake/orders", query_id(checkpoint), *[spark] * 7)
    program = tmp_path / "orders.py"
    program.write_text(PROGRAM.format(checkpoint=str(checkpoint), table=str(table)))
    code, found = facts(checkpoint, "--sink", table, "--code", program)
    assert code == ExitCode.DONE
    nine = [each for each in found["facts"] if each["number"] < 10]
    assert [each["number"] for each in nine] == list(range(1, 10))
    assert [each["name"] for each in nine if each["value"] is None] == []
    known = by_name(found)
    log = "_delta_log/00000000000000000006.json"
    assert known["sink"]["value"] == f"the Delta table {table} (batch 6)"
    assert known["sink"]["where"] == f"{log}; {program}:3: delta {table}"
    assert known["output mode"]["value"] == "append"
    assert known["output mode"]["where"] == f"{log}; {program}:4: append"
    assert (known["Spark"]["value"], known["Spark"]["where"]) == ("4.2.1", log)
    assert known["trigger"]["value"] == "processingTime 10 seconds"
    assert known["trigger"]["where"] == f"{program}:5"
    assert known["checkpoint in code"]["value"] == str(checkpoint)
    assert known["checkpoint in code"]["where"] == f"{program}:6"
    assert known["restarts"]["value"].startswith("at least 1 start; ")
    assert query_id(checkpoint) in known["restarts"]["command"]


def test_the_log_of_the_table_alone_tells_sink_mode_and_spark(
    facts: Facts, checkpoint: Path, tmp_path: Path
) -> None:
    spark = "Apache-Spark/4.1.4 Delta-Lake/4.4.0"
    table = delta_table(tmp_path / "t", query_id(checkpoint), spark, mode="Complete")
    code, found = facts(checkpoint, "--sink", table)
    known = by_name(found)
    assert code == ExitCode.DONE
    assert known["output mode"]["value"] == "complete"
    assert known["Spark"]["value"] == "4.1.4"


def test_a_changed_spark_in_the_log_is_a_start(
    facts: Facts, checkpoint: Path, tmp_path: Path
) -> None:
    engines = [f"Apache-Spark/{each} Delta-Lake/4.4.1" for each in ("4.1.4", "4.1.4", "4.2.1")]
    table = delta_table(tmp_path / "t", query_id(checkpoint), *engines)
    _, found = facts(checkpoint, "--sink", table)
    value = by_name(found)["restarts"]["value"]
    assert value.startswith("at least 2 starts (Spark 4.1.4 became 4.2.1 before batch 2); ")


def test_a_table_of_another_query_tells_nothing_of_this_one(
    facts: Facts, checkpoint: Path, tmp_path: Path
) -> None:
    other = "00000000-0000-4000-8000-000000000000"
    table = delta_table(tmp_path / "t", other, "Apache-Spark/3.5.9 Delta-Lake/3.2.0")
    _, found = facts(checkpoint, "--sink", table)
    known = by_name(found)
    assert known["sink"]["value"] == f"the Delta table {table} (no batch of this query)"
    assert known["output mode"]["value"] is None
    assert "3.5.9" not in known["Spark"]["value"]


def test_code_that_says_another_mode_than_the_log_is_shown(
    facts: Facts, checkpoint: Path, tmp_path: Path
) -> None:
    table = delta_table(tmp_path / "t", query_id(checkpoint), "Apache-Spark/4.2.1", mode="Complete")
    program = tmp_path / "orders.py"
    program.write_text(PROGRAM.format(checkpoint=str(checkpoint), table=str(table)))
    _, found = facts(checkpoint, "--sink", table, "--code", program)
    assert by_name(found)["output mode"]["value"] == "complete; the code says append"


def test_the_log_of_a_file_sink_means_append(
    facts: Facts, checkpoint: Path, tmp_path: Path
) -> None:
    log = tmp_path / "out/_spark_metadata"
    log.mkdir(parents=True)
    entry = {"path": f"{tmp_path}/out/part-0.parquet", "size": 9, "action": "add"}
    (log / "6").write_text(f"v1\n{json.dumps(entry)}\n")
    _, found = facts(checkpoint, "--sink", tmp_path / "out")
    known = by_name(found)
    assert known["output mode"]["value"] == "append"
    assert known["output mode"]["where"].startswith("_spark_metadata")
    assert "batch 6 of its newest writer" in known["sink"]["value"]


@pytest.mark.parametrize(
    ("operation", "mode"), [("append", "append"), ("overwrite", "complete"), ("replace", None)]
)
def test_the_snapshots_of_an_iceberg_table_tell_mode_spark_and_applications(
    facts: Facts, checkpoint: Path, tmp_path: Path, *, operation: str, mode: str | None
) -> None:
    snapshots = [
        {
            "snapshot-id": number + 1,
            "timestamp-ms": number,
            **({"parent-snapshot-id": number} if number else {}),
            "summary": {
                "operation": operation,
                "spark.sql.streaming.queryId": query_id(checkpoint),
                "spark.sql.streaming.epochId": str(number),
                "spark.app.id": f"local-{number // 2}",
                "engine-name": "spark",
                "engine-version": "4.0.5",
            },
        }
        for number in range(4)
    ]
    (tmp_path / "ice/metadata").mkdir(parents=True)
    document = {"format-version": 2, "table-uuid": "u", "current-snapshot-id": 4}
    (tmp_path / "ice/metadata/v1.metadata.json").write_text(
        json.dumps({**document, "properties": {}, "snapshots": snapshots})
    )
    _, found = facts(checkpoint, "--sink", tmp_path / "ice")
    known = by_name(found)
    assert known["sink"]["value"] == f"the Iceberg table {tmp_path / 'ice'} (batch 3)"
    assert known["output mode"]["value"] == mode
    assert known["Spark"]["value"] == "4.0.5"
    assert known["restarts"]["value"].startswith("at least 2 starts (another application, local-1)")


def test_what_is_not_known_names_one_command(facts: Facts, tmp_path: Path) -> None:
    (tmp_path / "checkpoint/offsets").mkdir(parents=True)
    (tmp_path / "checkpoint/offsets/0").write_bytes(b"PK\x03\x04")
    _, found = facts(tmp_path / "checkpoint")
    unknown = {each["name"]: each["command"] for each in found["facts"] if each["value"] is None}
    assert set(unknown) >= {"query id", "source offsets", "sink", "output mode", "restarts"}
    assert [name for name, command in unknown.items() if not command] == []
    assert unknown["sink"] == f"holdfast facts {tmp_path / 'checkpoint'} --code FILE.py"


def test_each_partition_is_in_the_json(facts: Facts, checkpoint: Path) -> None:
    _, found = facts(checkpoint)
    assert [
        (each["source"], each["topic"], each["partition"], each["offset"])
        for each in found["offsets"]
    ] == [("0", "fixtures", 0, 20), ("0", "fixtures", 1, 20)]
    assert found["starts"] is None


def test_the_text_shows_the_first_partitions_and_counts_the_rest(
    capsys: pytest.CaptureFixture[str], checkpoint: Path
) -> None:
    entry = checkpoint / "offsets/6"
    first = entry.read_text().splitlines()[:-1]
    offsets = {f"{number}": number * 1000 for number in range(40)}
    entry.write_text("\n".join([*first, json.dumps({"fixtures": offsets})]))
    (checkpoint / "offsets/.6.crc").unlink()
    _, out, _ = calling.call(capsys, "facts", str(checkpoint))
    lines = out.splitlines()
    begin = lines.index("Offsets by partition (offsets/6):")
    rows = [tuple(line.split()) for line in lines[begin + 2 : begin + 18]]
    assert rows == [
        ("source", "0", "fixtures", f"{each}", f"{each * 1000:,}") for each in range(16)
    ]
    assert lines[begin + 18] == "  and 24 partitions more: `--format json` lists all"


@pytest.mark.parametrize("mode", ["\x1b[31mAppend", "Sideways", 7, None, {"a": 1}])
def test_a_hostile_mode_is_not_known(
    facts: Facts, checkpoint: Path, tmp_path: Path, *, mode: object
) -> None:
    engine = "Apache-Spark/\x1b[31m4.2"
    table = delta_table(tmp_path / "t", query_id(checkpoint), engine, mode=mode)
    _, found = facts(checkpoint, "--sink", table)
    assert by_name(found)["output mode"]["value"] is None
    assert "\x1b" not in json.dumps(found, ensure_ascii=False)


def test_a_sink_that_cannot_be_read_is_said_and_not_judged(
    capsys: pytest.CaptureFixture[str], facts: Facts, *, checkpoint: Path, tmp_path: Path
) -> None:
    table = delta_table(tmp_path / "t", query_id(checkpoint), "Apache-Spark/4.2.1")
    (table / "_delta_log/00000000000000000000.json").write_text('{"commitInfo": {"oper')
    code, found = facts(checkpoint, "--sink", table)
    assert code == ExitCode.NOT_JUDGED
    assert by_name(found)["output mode"]["value"] is None
    assert any("damaged" in each for each in found["not_read"])
    code, out, _ = calling.call(capsys, "facts", str(checkpoint), "--sink", str(table))
    assert code == ExitCode.NOT_JUDGED
    assert "is damaged" in out.splitlines()[-1]


def test_a_source_that_does_not_answer_is_not_known(
    facts: Facts, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.sources.probe import NotProbed, SourceProbe  # noqa: PLC0415

    silent = SourceProbe(
        source="0", display_name="kafka fixtures", found=NotProbed(why="no answer")
    )
    monkeypatch.setattr("holdfast.judgement.probing.probe_sources", lambda *_: (silent,))
    code, found = facts(checkpoint, "--probe")
    assert code == ExitCode.NOT_JUDGED
    assert by_name(found)["lossless for"]["value"] is None
    assert by_name(found)["lossless for"]["where"] == "kafka fixtures: no answer"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def broken(:", "cannot be parsed"),
        ("x = 1\n", "starts no query"),
        ("df.writeStream.option('checkpointLocation', '/srv/other').start('/t')", "/srv/other"),
    ],
)
def test_a_program_that_does_not_tell_says_why(
    facts: Facts, checkpoint: Path, tmp_path: Path, *, text: str, said: str
) -> None:
    (tmp_path / "job.py").write_text(text)
    code, found = facts(checkpoint, "--code", tmp_path / "job.py")
    assert code == ExitCode.NOT_JUDGED
    sink = by_name(found)["sink"]
    assert (sink["value"], said in sink["where"]) == (None, True)


def test_a_program_that_is_not_there_is_a_wrong_argument(
    capsys: pytest.CaptureFixture[str], checkpoint: Path, tmp_path: Path
) -> None:
    code, _, err = calling.call(capsys, "facts", str(checkpoint), "--code", f"{tmp_path}/no.py:a")
    assert code == ExitCode.USAGE
    assert "cannot be read" in err


def test_a_program_is_never_run(facts: Facts, checkpoint: Path, tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndf.writeStream.start('/t')\n")
    facts(checkpoint, "--code", program)
    assert not (tmp_path / "ran").exists()


def test_no_text_of_a_program_steers_the_terminal_or_shows_a_secret(
    capsys: pytest.CaptureFixture[str], facts: Facts, *, checkpoint: Path, tmp_path: Path
) -> None:
    program = tmp_path / "job.py"
    target = "jdbc:postgresql://db/\\x1b[31mx?user=a&password=hunter2"
    program.write_text(f"df.writeStream.format('delta').start('{target}')\n")
    _, out, _ = calling.call(capsys, "facts", str(checkpoint), "--code", str(program))
    _, found = facts(checkpoint, "--code", program)
    assert "\x1b" not in out
    assert "hunter2" not in out + json.dumps(found)
    assert "jdbc:postgresql://db/" in by_name(found)["sink"]["value"]


def test_a_fact_that_is_not_known_names_its_command_in_markdown(
    capsys: pytest.CaptureFixture[str], checkpoint: Path
) -> None:
    _, out, _ = calling.call(capsys, "diagnose", str(checkpoint), "--format", "markdown")
    (row,) = (line for line in out.splitlines() if line.startswith("| 5 | output mode |"))
    assert "To find out" in row
    assert "--code FILE.py" in row
