"""`holdfast adopt`: the answer for each kind of sink and each pending batch; it changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.exit_codes import ExitCode
from tests import calling
from tests.event_logs import recorded
from tests.unit.adoption.changing import apply
from tests.unit.cli.guarding import Guarded
from tests.unit.cli.inspecting import unpack
from tests.unit.cli.test_facts import delta_table, query_id

Adopt = Callable[..., tuple[int, dict[str, Any]]]
SPARK = "Apache-Spark/4.2.1 Delta-Lake/4.4.1"
DELTA = """\
df = spark.readStream.format("kafka").load()
query = (
    df.writeStream.format("delta")
    .trigger(processingTime="10 seconds")
    .option("checkpointLocation", {checkpoint!r})
    .start({table!r})
)
"""
POSTGRES = """\
df = spark.readStream.format("kafka").load()


def save(batch, batch_id):
    batch.write.jdbc("jdbc:postgresql://db/shop", "orders", mode="append")


df.writeStream.foreachBatch(save).option("checkpointLocation", {checkpoint!r}).start()
"""
FUNCTION = POSTGRES.replace("    batch.write", "    check(batch)\n    batch.write")
MARKED = POSTGRES.replace(
    '.jdbc("jdbc:postgresql://db/shop", "orders", mode="append")',
    '.format("delta").mode("append").option("txnAppId", "orders").option("txnVersion", batch_id)'
    ".save({table!r})",
)
NEWEST = 6


class Plain:
    """A plain stream: its checkpoint with batches 0 to 6, its Delta table, its program."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.checkpoint = unpack("4.2-kafka", place).rename(place / "orders")
        self.table = place / "lake/t"

    def write(self, batches: int, *, application: str | None = None, name: str = "t") -> Path:
        """Make a Delta table with the first batches of an application; by default the query's."""
        own = application or query_id(self.checkpoint)
        return delta_table(self.place / "lake" / name, own, *[SPARK] * batches)

    def kill(self) -> None:
        """Leave the newest batch planned and not committed."""
        (self.checkpoint / f"commits/{NEWEST}").unlink()
        (self.checkpoint / f"commits/.{NEWEST}.crc").unlink(missing_ok=True)

    def program(self, text: str) -> str:
        given = {"checkpoint": str(self.checkpoint), "table": str(self.table)}
        (self.place / "job.py").write_text(text.format(**given))
        return "job.py"

    def files(self) -> dict[str, bytes]:
        there = (each for each in self.place.rglob("*") if each.is_file())
        return {str(each): each.read_bytes() for each in there}


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plain:
    monkeypatch.chdir(tmp_path)
    return Plain(tmp_path)


@pytest.fixture
def adopt(capsys: pytest.CaptureFixture[str], plain: Plain) -> Adopt:
    def call(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        before = plain.files()
        given = [str(plain.checkpoint), *map(str, arguments), "--format", "json"]
        code, out, _ = calling.call(capsys, "adopt", *given)
        assert plain.files() == before
        return code, json.loads(out)

    return call


def codes(found: dict[str, Any]) -> list[str]:
    return [each["code"] for each in found["asks"]]


def test_a_delta_stream_is_adopted_as_it_stands(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    code, found = adopt("--code", plain.program(DELTA))
    assert code == ExitCode.DONE
    assert (found["format"], found["verdict"], found["why"]) == ("holdfast.adopt", "adoptable", "")
    assert (found["generation"], found["first_batch"], found["next_batch"]) == (1, 7, 7)
    assert found["query_id"] == query_id(plain.checkpoint)
    assert (found["stream"]["value"], found["root"]["value"]) == ("orders", str(plain.place))
    assert found["pending"]["holding"] == "none-pending"
    assert found["fences_old_writer"] is True
    assert found["signs"].startswith("No lease says that it is stopped. Its last sign of life was ")
    assert (codes(found), found["todo"]) == ([], [])
    assert found["sink"] == {"value": f"hf.Delta(path={str(plain.table)!r})", "where": "job.py:6"}


@pytest.mark.parametrize(("batches", "holding"), [(7, "held"), (6, "not-held")])
def test_the_log_of_the_table_says_whether_it_holds_the_pending_batch(
    adopt: Adopt, plain: Plain, *, batches: int, holding: str
) -> None:
    plain.kill()
    plain.write(batches)
    code, found = adopt("--code", plain.program(DELTA))
    assert (code, found["verdict"], codes(found)) == (ExitCode.DONE, "adoptable", [])
    pending = found["pending"]
    assert (pending["batch"], pending["holding"]) == (NEWEST, holding)
    assert (found["first_batch"], found["next_batch"]) == (6, 6)
    assert pending["covers"] == [
        "source 0: kafka fixtures, 2 partitions, 4 records "
        "(fixtures 0: 18 … 19, fixtures 1: 18 … 19)"
    ]
    assert ("skips" in pending["then"]) == (holding == "held")


@pytest.mark.parametrize("batches", [4, 9])
def test_a_table_that_is_behind_or_ahead_is_repaired_first(
    adopt: Adopt, plain: Plain, batches: int
) -> None:
    plain.write(batches)
    code, found = adopt("--code", plain.program(DELTA))
    assert (code, found["verdict"]) == (ExitCode.FOUND, "adoptable-after")
    wanted = {4: {"HF603", "HF716"}, 9: {"HF604", "HF702"}}[batches]
    assert wanted <= {each["code"] for each in found["todo"]}


def test_postgresql_asks_whether_the_old_query_is_gone(adopt: Adopt, plain: Plain) -> None:
    code, found = adopt("--code", plain.program(POSTGRES))
    assert (code, found["verdict"]) == (ExitCode.FOUND, "adoptable-after")
    assert codes(found) == ["HF610"]
    assert [each["short"] for each in found["todo"]] == ["accept HF610"]
    assert found["fences_old_writer"] is False
    assert found["sink"]["value"] == 'hf.Postgres("env:ORDERS_DSN", table="orders")'
    assert "ORDERS_DSN" in found["not_known"][0]["what"]


def test_a_table_of_postgresql_is_named_without_a_program(adopt: Adopt) -> None:
    code, found = adopt("--sink", "env:SHOP_DSN#shop.orders")
    assert (code, found["verdict"], codes(found)) == (ExitCode.FOUND, "adoptable-after", ["HF610"])
    assert found["sink"]["value"] == 'hf.Postgres("env:SHOP_DSN", table="shop.orders")'


def test_postgresql_asks_whether_the_pending_batch_arrived(adopt: Adopt, plain: Plain) -> None:
    plain.kill()
    _, found = adopt("--code", plain.program(POSTGRES))
    assert codes(found) == ["HF610", "HF611", "HF612"]
    assert found["pending"]["holding"] == "not-known"
    short = [each["short"] for each in found["todo"]]
    assert short == ["accept HF610", "say whether batch 6 arrived (HF611 or HF612)"]


@pytest.mark.parametrize(("batches", "answer"), [(7, "HF612"), (6, "HF611")])
def test_a_function_with_transaction_ids_gives_the_answer(
    adopt: Adopt, plain: Plain, *, batches: int, answer: str
) -> None:
    plain.kill()
    plain.write(batches, application="orders")
    _, found = adopt("--code", plain.program(MARKED))
    assert codes(found) == ["HF610", "HF611", "HF612"]
    assert [each["code"] for each in found["todo"]] == ["HF610", answer]


def test_a_batch_in_one_of_two_tables_is_partly_there(adopt: Adopt, plain: Plain) -> None:
    plain.kill()
    sinks = (plain.write(7, application="orders"), plain.write(6, application="orders", name="u"))
    given = [argument for each in sinks for argument in ("--sink", str(each))]
    _, found = adopt("--code", plain.program(MARKED), *given)
    assert found["pending"]["holding"] == "partly"
    assert found["todo"][-1]["short"] == (
        "delete the rows of batch 6 that are there, and accept HF611"
    )


def test_a_function_that_does_more_is_guarded_as_it_is(adopt: Adopt, plain: Plain) -> None:
    program = plain.program(FUNCTION)
    code, found = adopt("--code", program)
    assert (code, found["verdict"], codes(found)) == (ExitCode.DONE, "adoptable", [])
    assert found["sink"]["value"] == "hf.ForeachBatch(save)"
    plain.kill()
    code, found = adopt("--code", program)
    assert (code, found["verdict"], codes(found)) == (ExitCode.FOUND, "adoptable-after", [])
    assert found["todo"][0]["short"] == "look for the rows of batch 6"


def test_a_query_that_wrote_just_now_is_stopped_first(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    os.utime(plain.checkpoint / f"commits/{NEWEST}")
    code, found = adopt("--code", plain.program(DELTA))
    assert (code, found["verdict"]) == (ExitCode.FOUND, "adoptable-after")
    assert [each["short"] for each in found["todo"]] == ["stop the old query"]


def test_output_mode_complete_needs_keys(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    text = DELTA.replace("    .trigger", '    .outputMode("complete")\n    .trigger')
    _, found = adopt("--code", plain.program(text))
    assert (found["verdict"], found["change"]["diff"]) == ("adoptable-after", None)
    assert [each["short"] for each in found["todo"]] == ["give the sink keys"]
    assert 'outputMode="complete"' in found["change"]["call"]


def test_a_sink_that_holdfast_does_not_have_is_refused(adopt: Adopt, plain: Plain) -> None:
    code, found = adopt("--code", plain.program(DELTA.replace('"delta"', '"parquet"')))
    assert (code, found["verdict"]) == (ExitCode.FOUND, "not-adoptable")
    assert found["why"] == "Holdfast has no sink for parquet files"


def test_without_anything_named_the_answer_is_not_known(adopt: Adopt, plain: Plain) -> None:
    code, found = adopt()
    assert (code, found["verdict"]) == (ExitCode.NOT_JUDGED, "not-known")
    assert found["why"] == "its sink is not known"
    assert "into=…" in found["change"]["call"]
    plain.write(7)
    code, found = adopt("--sink", plain.table)
    assert (code, found["verdict"]) == (ExitCode.DONE, "adoptable")
    assert f'into=hf.Delta(path="{plain.table}")' in found["change"]["call"]


def test_the_event_log_names_the_table(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    log = recorded("3.5-stopped")
    sink = "FileSink[/tmp/holdfast-event-logs/stream/output]"
    text = log.file.read_text().replace(log.query_id, query_id(plain.checkpoint))
    assert sink in text
    (plain.place / "events").mkdir()
    (plain.place / "events/local-1").write_text(text.replace(sink, f"DeltaSink[{plain.table}]"))
    code, found = adopt("--event-log", "events")
    assert (code, found["verdict"]) == (ExitCode.DONE, "adoptable")
    assert found["sink"] == {"value": f'hf.Delta(path="{plain.table}")', "where": "the event log"}


def test_a_log_and_a_source_that_cannot_be_read_are_never_fine(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    program = plain.program(DELTA)
    (plain.place / "events").mkdir()
    for more in (("--event-log", "events"), ("--probe",)):
        code, found = adopt("--code", program, *more)
        assert (code, found["verdict"]) == (ExitCode.NOT_JUDGED, "not-known")


@pytest.mark.parametrize("missing", ["table", "code", "catalog"])
def test_what_cannot_be_looked_at_is_never_fine(adopt: Adopt, plain: Plain, missing: str) -> None:
    text = (
        DELTA.replace(".start({table!r})", '.toTable("lake.t")') if missing == "catalog" else DELTA
    )
    if missing == "code":
        plain.write(7)
        text = "query = run()\n"
    code, found = adopt("--code", plain.program(text))
    assert (code, found["verdict"]) == (ExitCode.NOT_JUDGED, "not-known")
    assert found["not_known"]


def test_a_table_of_a_catalog_is_looked_at_by_its_location(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    program = plain.program(DELTA.replace(".start({table!r})", '.toTable("lake.t")'))
    code, found = adopt("--code", program, "--sink", plain.table)
    assert (code, found["verdict"]) == (ExitCode.DONE, "adoptable")
    assert found["sink"]["value"] == 'hf.Delta(table="lake.t")'


def test_a_checkpoint_of_another_stream_is_refused(adopt: Adopt, plain: Plain) -> None:
    plain.write(7)
    other = plain.place / "streams"
    other.mkdir()
    Guarded(other).open(2, plain.checkpoint)
    code, found = adopt("--code", plain.program(DELTA), "--root", other)
    assert (code, found["verdict"]) == (ExitCode.FOUND, "not-adoptable")
    assert found["why"] == f"the stream readings: it runs on {plain.checkpoint}"
    _, found = adopt("--code", plain.program(DELTA), "--root", other, "--stream", "readings")
    assert "is guarded already" in found["why"]


def test_a_guarded_stream_is_not_adopted_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guarded = Guarded(tmp_path)
    code, out, _ = calling.call(capsys, "adopt", str(guarded.checkpoint))
    assert code == ExitCode.FOUND
    assert out.splitlines()[0] == (
        "readings cannot be adopted: readings is guarded already: its record is beside the "
        "checkpoint."
    )


def test_there_is_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = calling.call(capsys, "adopt", str(tmp_path / "none"))
    assert code == ExitCode.NOT_JUDGED
    assert len(out.splitlines()) == 1


@pytest.mark.parametrize("way", ["what is printed", "the file"])
def test_the_change_can_be_applied(
    plain: Plain, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """The text before the diff does not disturb."""
    plain.write(7)
    program = plain.program(DELTA)
    more = () if way == "what is printed" else ("-o", "adopt.patch")
    code, out, _ = calling.call(
        capsys, "adopt", str(plain.checkpoint), "--code", program, "--stream", "my-orders", *more
    )
    assert code == ExitCode.DONE
    assert out.startswith(
        "my-orders can be adopted as it stands. The first guarded start begins batch 7.\n"
    )
    diff = (plain.place / "adopt.patch").read_text() if more else out
    changed = apply(plain.place, Path(program).read_text(), diff)
    assert changed == (
        "import holdfast as hf\n\n"
        'df = spark.readStream.format("kafka").load()\n'
        "query = hf.start(\n    df,\n"
        '    stream="my-orders",\n'
        f'    root="{plain.place}",\n'
        f"    into=hf.Delta(path='{plain.table}'),\n"
        f"    checkpoint='{plain.checkpoint}',\n"
        '    trigger={"processingTime": "10 seconds"},\n'
        ")\n"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--stream", "Orders"), "lower-case letters"),
        (("--sink", "env:host=db password=x#orders"), "never the DSN itself"),
        (("--code", "none.py"), "cannot be read"),
        (("-o", "adopt.patch"), "There is no diff to write"),
        (("-o", "orders/adopt.patch"), "is inside the checkpoint"),
    ],
)
def test_a_wrong_argument(
    plain: Plain, capsys: pytest.CaptureFixture[str], *, arguments: tuple[str, ...], says: str
) -> None:
    code, _, err = calling.call(capsys, "adopt", str(plain.checkpoint), *arguments)
    assert code == ExitCode.USAGE
    assert says in err
    assert "password=x" not in err
