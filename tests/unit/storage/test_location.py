from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import CredentialsInLocationError, LocationError
from holdfast.storage import Location, parse_location


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/lake/cp", "/lake/cp"),
        ("/lake//cp/", "/lake/cp"),
        ("/lake/./x/../cp", "/lake/cp"),
        ("file:/lake/cp", "/lake/cp"),
        ("file:///lake/cp/", "/lake/cp"),
        ("s3://lake/streams/raw", "s3://lake/streams/raw"),
        ("s3a://lake/streams/raw/", "s3://lake/streams/raw"),
        ("S3N://lake//streams/./raw", "s3://lake/streams/raw"),
        ("s3://lake", "s3://lake"),
        ("gs://lake/raw", "gs://lake/raw"),
        ("abfss://lake@acme.dfs.core.windows.net/raw", "az://lake@acme/raw"),
        ("wasbs://lake@acme.blob.core.windows.net/raw", "az://lake@acme/raw"),
        ("az://lake/raw", "az://lake/raw"),
        ("s3://lake/a%20b", "s3://lake/a%20b"),
        ("s3://lake/user@example.com/x", "s3://lake/user@example.com/x"),
        ("az://lake@acme/raw", "az://lake@acme/raw"),
    ],
)
def test_spellings_of_one_place_are_one_location(text: str, canonical: str) -> None:
    assert str(parse_location(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", "  ", "hdfs://nn/cp", "dbfs:/cp", "s3:lake", "s3:///cp", "s3://lake/../x"]
)
def test_what_cannot_be_read_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(LocationError) as raised:
        parse_location(text)
    assert raised.value.text == text


@pytest.mark.parametrize(
    "text",
    [
        "s3a://KEY:SECRET@lake/x",
        "gs://SECRET@lake/x",
        "az://x:SECRET@acme/x",
        "s3://b/x?sig=SECRET",
    ],
)
def test_credentials_are_refused_and_not_kept(text: str) -> None:
    with pytest.raises(CredentialsInLocationError) as raised:
        parse_location(text)
    assert "***" in raised.value.text
    assert "SECRET" not in f"{raised.value} {raised.value.text}"
    assert "fs.s3a.access.key" in raised.value.how


def test_a_relative_path_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_location("cp") == Location(scheme="file", path=str(tmp_path / "cp"))


def test_joining_goes_down_and_the_name_is_the_last_part() -> None:
    location = parse_location("s3a://lake/streams")
    assert str(location.join("raw", "offsets/3")) == "s3://lake/streams/raw/offsets/3"
    assert str(parse_location("s3://lake").join("raw")) == "s3://lake/raw"
    assert (location.name, parse_location("s3://lake").name) == ("streams", "lake")


@given(st.text())
def test_any_text_is_a_location_or_refused(text: str) -> None:
    try:
        location = parse_location(text)
    except LocationError:
        return
    assert parse_location(str(location)) == location
