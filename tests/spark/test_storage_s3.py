"""The storage contract on a real S3 server."""

from __future__ import annotations

import uuid

import pytest

from holdfast.errors import ReadError
from holdfast.storage import open_reader
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import Writer, open_writer
from holdfast.testing.storage_contract import StorageContract
from lab import S3
from lab.s3 import ACCESS_KEY, REGION, SECRET_KEY


@pytest.fixture
def options(s3: S3) -> dict[str, str]:
    return from_hadoop(s3.spark_settings(), bucket="lake")


class TestS3(StorageContract):
    @pytest.fixture
    def storage(self, options: dict[str, str]) -> Writer:
        return open_writer(f"s3a://lake/contract/{uuid.uuid4().hex}", options)


def test_the_environment_is_enough(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in from_hadoop(s3.spark_settings(), bucket="lake").items():
        monkeypatch.setenv(f"AWS_{name.upper()}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.address)
    location = f"s3://lake/environment/{uuid.uuid4().hex}"
    open_writer(location).put("file", b"1")
    assert open_reader(location).read("file") == b"1"


def test_wrong_credentials_are_an_error_that_says_so_and_not_an_empty_directory(
    options: dict[str, str],
) -> None:
    reader = open_reader("s3://lake/any", {**options, "secret_access_key": "wrong"})
    for look in (reader.list, reader.read, reader.stat):
        with pytest.raises(ReadError, match="credentials") as raised:
            look("offsets")
        assert "wrong" not in str(raised.value)
    with pytest.raises(ReadError):
        list(reader.walk())


def test_the_marker_of_an_emptied_directory_is_no_file(s3: S3, options: dict[str, str]) -> None:
    import boto3  # noqa: PLC0415 - obstore has no keys that end in /

    place = uuid.uuid4().hex
    client = boto3.client(
        "s3",
        endpoint_url=s3.address,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name=REGION,
    )
    client.put_object(Bucket="lake", Key=f"{place}/commits/", Body=b"")  # as s3a does
    there = open_writer(f"s3://lake/{place}", options)
    for name in ("commits/0", "metadata", "empty"):
        there.put(name, b"" if name == "empty" else b"1")
    there.delete("commits/0")
    assert {each.path for each in there.walk()} == {"empty", "metadata"}
    assert [each.path for each in there.list().files] == ["empty", "metadata"]
    assert there.list().directories == ("commits",)
    assert [each.path for each in there.walk_page("").files] == ["empty", "metadata"]
