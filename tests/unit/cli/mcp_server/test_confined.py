"""What a server may open is decided where something is opened, whatever named it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.mcp_server.arguments import Arguments, Kind, kind_of
from holdfast.cli.mcp_server.plans import goals, keyword_of
from holdfast.cli.mcp_server.reply import Serving
from holdfast.cli.mcp_server.roots import Roots
from holdfast.cli.mcp_server.tools import call_tool, find_tools
from holdfast.confinement import (
    OutsideRootsError,
    confined_by,
    is_confined,
    permits,
    permits_connections,
)
from holdfast.errors import ConfigError, LocationError
from holdfast.sinks.secrets import reveal
from holdfast.sources.kafka.client import open_kafka
from holdfast.sources.probe import NotProbed
from holdfast.storage.open import open_reader
from holdfast.storage.write import open_writer
from tests import calling
from tests.docs.repair_root import STREAM, make_root

TOOLS = find_tools(allows_apply=True)


def test_everything_is_permitted_where_nothing_is_confined(tmp_path: Path) -> None:
    assert not is_confined()
    assert permits(tmp_path)
    assert permits_connections()


def test_readers_and_writers_are_refused_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "in/out").symlink_to(tmp_path)
    with confined_by(Roots([str(tmp_path / "in")])):
        open_reader(str(tmp_path / "in/below")).list()
        for place in (tmp_path, tmp_path / "in2", tmp_path / "in/out", "s3://lake/in"):
            for opens in (open_reader, open_writer):
                with pytest.raises(OutsideRootsError):
                    opens(str(place))
    open_reader(str(tmp_path))


def test_a_root_that_is_a_link_is_what_it_was_when_it_was_named(tmp_path: Path) -> None:
    for each in ("one", "two"):
        (tmp_path / each).mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    roots = Roots([str(link)])
    assert roots.permits(str(link / "cp"))
    link.unlink()
    link.symlink_to(tmp_path / "two")
    assert not roots.permits(str(link / "cp"))


def test_a_bucket_is_a_root_for_its_own_prefix_only() -> None:
    roots = Roots(["s3://lake/streams"])
    assert roots.permits("s3a://lake/streams/readings")
    for place in ("s3://lake/streams2", "s3://lake", "s3://other/streams/a", "gs://lake/streams/a"):
        assert not roots.permits(place)
    with pytest.raises(LocationError):
        roots.place("s3://lake/streams/../private")


def test_brokers_and_databases_are_not_asked_unless_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSN", "host=localhost")
    with confined_by(Roots([str(tmp_path)])):
        assert isinstance(open_kafka("127.0.0.1:1"), NotProbed)
        with pytest.raises(ConfigError, match="does not connect"):
            reveal("env:DSN")
    with confined_by(Roots([str(tmp_path)], allows_connections=True)):
        assert not isinstance(open_kafka("127.0.0.1:1"), NotProbed)
        assert reveal("env:DSN") == "host=localhost"


@pytest.mark.parametrize(
    "text", ["env:DSN#t", "ENV:DSN", " env:DSN", "postgresql://h/d", "", "-", "a\0b", "x" * 5_000]
)
def test_a_reference_is_no_place(tmp_path: Path, text: str) -> None:
    with pytest.raises((OutsideRootsError, LocationError, ConfigError)):
        Roots([str(tmp_path)]).place(text)


def test_a_source_can_be_a_place_inside_and_a_broker_only_if_allowed(tmp_path: Path) -> None:
    roots = Roots([str(tmp_path)])
    assert roots.source(f"0={tmp_path}/t") == f"0={tmp_path}/t"
    assert roots.sink(f"raw={tmp_path}/t") == f"raw={tmp_path}/t"
    with pytest.raises(LocationError):
        roots.source("broker:9092")
    allowed = Roots([str(tmp_path)], allows_connections=True)
    assert allowed.source("0=broker:9092,other:9092") == "0=broker:9092,other:9092"


def call(tool: str, serving: Serving, **given: object) -> tuple[bool, dict[str, object]]:
    with confined_by(serving.roots):
        is_error, text = call_tool(TOOLS[tool], given, serving)
    answer: dict[str, object] = json.loads(text)["answer"]
    return is_error, answer


def test_a_record_that_names_a_place_outside_leads_nowhere(tmp_path: Path) -> None:
    make_root(tmp_path)  # its table is in lake/, beside streams/
    streams = str(tmp_path / "streams")
    serving = Serving(roots=Roots([streams]))
    is_error, found = call("diagnose", serving, location=STREAM, root=streams)
    assert is_error or found["verdict"] == "not-known", found
    assert "outside the roots" in json.dumps(found)
    serving = Serving(roots=Roots([streams, str(tmp_path / "lake")]))
    is_error, found = call("diagnose", serving, location=STREAM, root=streams)
    assert not is_error
    assert "outside the roots" not in json.dumps(found)


def test_a_checkpoint_whose_record_may_not_be_seen_is_not_judged(tmp_path: Path) -> None:
    make_root(tmp_path)
    checkpoint = str(tmp_path / "streams" / STREAM)
    for tool in ("inspect", "diagnose", "facts"):
        is_error, found = call(tool, Serving(roots=Roots([checkpoint])), location=checkpoint)
        assert (is_error, found["code"]) == (True, "OUTSIDE_ROOTS")


def test_code_is_not_read_through_a_link_nor_beside_the_root(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "settings.py").write_text('CP = "/tmp/checkpoint"\n')
    (tmp_path / "jobs/a.py").write_text(
        'from settings import CP\nq = df.writeStream.option("checkpointLocation", CP).start()\n'
    )
    (tmp_path / "jobs/b.py").symlink_to(tmp_path / "settings.py")
    jobs = str(tmp_path / "jobs")
    _, found = call("lint", Serving(roots=Roots([jobs])), paths=[jobs])
    assert "outside the roots" in json.dumps(found["not_checked"])
    assert "HF802" not in json.dumps(found)
    (tmp_path / "jobs").rename(tmp_path / "again")  # what was found before is kept in memory
    again = str(tmp_path / "again")
    _, found = call("lint", Serving(roots=Roots([str(tmp_path)])), paths=[again])
    assert "HF802" in json.dumps(found)


def test_every_option_of_every_goal_can_be_named() -> None:
    described = TOOLS["plan"].description
    for goal in goals().values():
        assert f"- {goal.name}: " in described
        assert all(keyword_of(each) in described for each in goal.options)


def test_a_plan_of_an_unknown_goal_or_option_is_refused(tmp_path: Path) -> None:
    serving = Serving(roots=Roots([str(tmp_path)]))
    given = {"stream": "readings", "root": str(tmp_path)}
    _, found = call("plan", serving, goal="delete", **given)
    assert found["code"] == "CONFIG"
    _, found = call("plan", serving, goal="resume", options={"out": "/etc/x"}, **given)
    assert "has no option 'out'" in str(found["why"])
    moved = {"to": "/elsewhere"}
    _, found = call("plan", serving, goal="move", options=moved, **given)
    assert found["code"] == "OUTSIDE_ROOTS"


def texts_of(form: type[Arguments]) -> set[str]:
    return {each for each in form.__struct_fields__ if kind_of(form, each) is Kind.TEXT}


def test_what_is_not_confined_names_no_place() -> None:
    """An argument of text is listed here: a new one that names a place must be confined."""
    free = {name for tool in TOOLS.values() for name in texts_of(tool.arguments)}
    assert free == {
        *(
            "allow",
            "batch",
            "code",
            "cost",
            "deep",
            "depth",
            "idle_days",
            "digest",
            "files",
            "goal",
            "key",
            "limit",
        ),
        *("location", "operator", "options", "partition", "probe", "spark", "state", "stream"),
    }


def test_a_root_that_does_not_exist_is_said_when_the_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("holdfast.cli.mcp_server.server.serve", lambda _: None)
    roots = ("--root", str(tmp_path), "--root", f"{tmp_path}/x", "--root", "s3://lake/x")
    code, out, err = calling.call(capsys, "mcp", *roots)
    assert (code, out) == (0, "")
    assert err == f"holdfast mcp: the root {tmp_path}/x does not exist.\n"
