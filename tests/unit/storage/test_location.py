from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import CredentialsInLocationError, LocationError
from holdfast.storage import Location, parse_location
from holdfast.storage.local import is_same_place
from holdfast.storage.location import spark_location

AZURE = "abfss://lake@acme.dfs.core.windows.net/raw"
CHINA = "abfss://lake@acme.dfs.core.chinacloudapi.cn/raw"
ONELAKE = "abfss://team@onelake.dfs.fabric.microsoft.com/raw"


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
        ("abfss://lake@acme.dfs.core.windows.net/raw", AZURE),
        ("wasbs://lake@acme.blob.core.windows.net/raw", AZURE),
        ("az://lake/raw", "az://lake/raw"),
        ("s3://lake/a%20b", "s3://lake/a%20b"),
        ("s3://lake/user@example.com/x", "s3://lake/user@example.com/x"),
        ("az://lake@acme/raw", AZURE),
        ("abfs://lake@acme.blob.core.windows.net/raw", AZURE),
        ("abfss://lake@acme.dfs.core.chinacloudapi.cn/raw", CHINA),
        ("wasbs://lake@acme.blob.core.chinacloudapi.cn/raw", CHINA),
        ("abfss://team@onelake.dfs.fabric.microsoft.com/raw", ONELAKE),
        ("hdfs://nn:8020//streams/raw/", "hdfs://nn/streams/raw"),
        ("hdfs:///streams/raw", "hdfs:///streams/raw"),
        ("hdfs:/streams/raw", "hdfs:///streams/raw"),
        ("webhdfs://nn:9870/streams", "webhdfs://nn:9870/streams"),
    ],
)
def test_spellings_of_one_place_are_one_location(text: str, canonical: str) -> None:
    assert str(parse_location(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "webhdfs:///cp",
        "dbfs:/cp",
        "hdfs://nn/../x",
        "s3:lake",
        "s3:///cp",
        "s3://lake/../x",
    ],
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


@pytest.mark.parametrize(
    "text",
    [
        AZURE,
        AZURE.replace("abfss", "abfs"),
        "wasbs://lake@acme.blob.core.windows.net/raw",
        ONELAKE,
        "hdfs://nn:9000/streams",
        "hdfs:///streams",
        "gs://lake/raw",
    ],
)
def test_spark_gets_a_location_as_it_was_spelt(text: str) -> None:
    assert spark_location(parse_location(text)) == text


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("hdfs://nn:8020/s/x", "hdfs://nn/s/x", True),
        ("webhdfs://nn:9870/s/x", "hdfs://nn:8020/s/x", True),
        ("hdfs:///s/x", "hdfs://nn/s/x", True),
        ("webhdfs://nn:9870/s/x", "hdfs://nn:8020/s/y", False),
        ("hdfs://nn/s/x", "hdfs://other/s/x", False),
        ("s3://lake/s/x", "s3a://lake/s/x", True),
        ("s3://lake/s/x", "gs://lake/s/x", False),
        ("abfss://c@Acme.dfs.core.windows.net/x", "wasbs://c@acme.blob.core.windows.net/x", True),
    ],
)
def test_one_place_has_several_names(one: str, other: str, *, is_one: bool) -> None:
    assert is_same_place(parse_location(one), parse_location(other)) == is_one


@pytest.mark.parametrize(
    "host", ["acme.z12.dfs.storage.azure.net", "acme.privatelink.dfs.core.windows.net"]
)
def test_a_host_of_azure_in_another_form_is_refused(host: str) -> None:
    with pytest.raises(LocationError, match="does not name container@account"):
        parse_location(f"abfss://c@{host}/x")
