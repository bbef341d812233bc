"""What the options of the data source hold, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.datasource.options import guard_options, read_options

SINK = hf.Postgres("env:READINGS_DSN", table="readings", keys=["id"], sequence_by="at")


def given(place: Path, **more: Any) -> dict[str, str]:
    return guard_options(**{"stream": "readings", "into": SINK, "root": str(place), **more})


def test_options_are_read_as_they_were_given(tmp_path: Path) -> None:
    options = given(tmp_path, accept="HF604:7c1f", takeover=True, lease_seconds=90)
    asked = read_options({name.lower(): value for name, value in options.items()})  # as Spark does
    assert asked.sink == SINK
    assert (asked.stream, asked.accept, asked.takeover) == ("readings", "HF604:7c1f", True)
    assert (asked.lease_seconds, asked.start) == (90, options["start"])
    assert str(asked.checkpoint) == str(tmp_path / "readings")


def test_each_call_is_another_start(tmp_path: Path) -> None:
    assert given(tmp_path)["start"] != given(tmp_path)["start"]


def test_no_secret_is_in_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READINGS_DSN", "postgresql://app:hunter2@db/x")
    assert "hunter2" not in str(given(tmp_path))
    assert not list(tmp_path.iterdir())  # nothing is created


def test_a_pipeline_decides_where_the_checkpoint_is(tmp_path: Path) -> None:
    assert "checkpointLocation" not in given(tmp_path, checkpoint="")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"into": hf.Postgres("postgresql://a:b@c/d", table="t")}, "cannot be told by options"),
        ({"into": hf.Postgres(lambda: "", table="t")}, "cannot be told by options"),
        ({"into": hf.Delta(path="/srv/t")}, "PostgreSQL only"),
        ({"into": hf.ForeachBatch(print)}, "PostgreSQL only"),
        ({"into": "env:READINGS_DSN"}, "into= takes one sink"),
        ({"root": "hdfs://nn/streams"}, "through a Spark session"),
        ({"lease_seconds": 0}, "leaseSeconds"),
        ({"stream": "Readings"}, "not one"),
    ],
)
def test_what_cannot_be_told_is_refused(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    with pytest.raises(hf.ConfigError, match=why):
        given(tmp_path, **more)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"stream": ""}, "no option stream"),
        ({"start": ""}, "no option start"),
        ({"start": "1"}, "option start is not"),
        ({"into": "{}"}, "option into is not"),
        ({"into": '{"kind":"other","place":"p","label":"l"}'}, "not known here"),
        ({"checkpointLocation": ""}, "checkpointLocation"),
        ({"leaseSeconds": "soon"}, "leaseSeconds"),
    ],
)
def test_options_of_another_form_are_refused(
    tmp_path: Path, changes: dict[str, str], why: str
) -> None:
    with pytest.raises(hf.ConfigError, match=why):
        read_options({name.lower(): text for name, text in {**given(tmp_path), **changes}.items()})
