from __future__ import annotations

from datetime import UTC, datetime

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from holdfast.errors import ReadError, WriteError
from holdfast.storage import FileInfo, Location, open_reader, parse_location
from holdfast.storage.object_clients import has_same_settings, open_store, whole_bucket
from holdfast.storage.objects import ObjectReader, _without_markers, reason, remedy
from holdfast.storage.write import Writer, open_writer
from holdfast.storage.write_objects import ObjectWriter
from holdfast.testing.storage_contract import StorageContract

PLACE = Location(scheme="s3", bucket="lake", path="cp")


class TestObjects(StorageContract):
    @pytest.fixture
    def storage(self) -> Writer:
        return ObjectWriter(PLACE, MemoryStore())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("s3a://lake/cp", S3Store),
        ("gs://lake/cp", GCSStore),
        ("abfss://lake@acme.dfs.core.windows.net/cp", AzureStore),
        ("s3://lake", S3Store),
    ],
)
def test_each_scheme_has_its_client(text: str, kind: type) -> None:
    options = {"region": "eu-west-1"} if text.startswith("s3") else {}
    store = open_store(parse_location(text), options)
    assert isinstance(store, kind)
    assert store.prefix == ("cp" if text.endswith("cp") else None)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "bucket", ["s3a://lake", "gs://lake", "abfss://lake@acme.dfs.core.windows.net"]
)
def test_a_client_of_the_whole_bucket_has_the_same_settings(bucket: str) -> None:
    """So that the store itself copies from one place in it to another."""
    options = {"region": "eu-west-1"} if bucket.startswith("s3") else {}
    one, other = (open_store(parse_location(f"{bucket}/{path}"), options) for path in "ab")
    assert has_same_settings(one, other)
    whole = whole_bucket(one)
    assert has_same_settings(one, whole)
    assert (one.prefix, whole.prefix) == ("a", None)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("location", "options"),
    [
        ("s3://lake/cp", {"region": "eu-west-1", "skip_signature": "true"}),
        ("s3://lake/cp", {"region": "eu-west-1", "endpoint": "https://store.example"}),
        ("s3://pond/cp", {"region": "eu-west-1"}),
        ("gs://lake/cp", {}),
    ],
)
def test_another_account_endpoint_or_bucket_is_another_store(
    location: str, options: dict[str, str]
) -> None:
    one = open_store(parse_location("s3://lake/cp"), {"region": "eu-west-1"})
    assert not has_same_settings(one, open_store(parse_location(location), options))
    assert not has_same_settings(MemoryStore(), MemoryStore())


@pytest.mark.parametrize(("length", "read"), [(3, b"123"), (5, b"12345"), (99, b"12345")])
def test_an_object_is_read_up_to_a_limit(length: int, read: bytes) -> None:
    storage = ObjectWriter(PLACE, MemoryStore())
    storage.put("metadata", b"12345")
    assert storage.read("metadata", length=length) == read
    assert storage.read("none", length=length) is None


def test_azures_account_is_in_the_location() -> None:
    store = open_store(parse_location("abfss://lake@acme.dfs.core.windows.net/cp"), {})
    assert isinstance(store, AzureStore)
    assert store.config.get("account_name") == "acme"


def test_a_reader_of_a_bucket_has_no_way_to_write() -> None:
    reader = open_reader("s3://lake/cp", {"region": "eu-west-1"})
    assert type(reader) is ObjectReader
    assert type(open_writer("s3://lake/cp", {"region": "eu-west-1"})) is ObjectWriter


@pytest.mark.parametrize(
    ("said", "advice"),
    [("status code: 403 Forbidden\n<xml>", "credentials"), ("timed out", "network")],
)
def test_an_error_of_the_store_says_what_to_check(
    said: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GenericError(said)

    storage = ObjectWriter(PLACE, MemoryStore())
    monkeypatch.setattr(obstore, "get", fail)
    monkeypatch.setattr(obstore, "put", fail)
    with pytest.raises(ReadError) as reading:
        storage.read("offsets/0")
    with pytest.raises(WriteError) as writing:
        storage.put("offsets/0", b"")
    for error in (reading.value, writing.value):
        assert error.location == "s3://lake/cp/offsets/0"
        assert advice in error.how
        assert "<xml>" not in str(error)


def test_markers_of_directories_are_left_out_and_empty_files_are_not() -> None:
    def info(path: str, size: int) -> FileInfo:
        return FileInfo(path=path, size_bytes=size, modified=datetime.now(tz=UTC))

    listed = [
        info("", 0),
        info("commits", 0),
        info("commits/0", 9),
        info("empty", 0),
        info("offsets", 0),
        info("offsets/0", 0),
        info("offsets/1", 5),
        info("readings", 0),
        info("readings-b", 0),
        info("readings-b.1", 0),
        info("readings-b/0", 1),
        info("readings.g2/0", 1),
        info("readings/0", 1),
        info("zero", 0),
    ]
    paths = [each.path for each in _without_markers(iter(listed), "")]
    assert paths == [
        *("commits/0", "empty", "offsets/0", "offsets/1"),
        *("readings-b.1", "readings-b/0", "readings.g2/0", "readings/0", "zero"),
    ]


def test_a_page_leaves_out_markers_of_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(tz=UTC)
    listed = [
        {"path": path, "size": size, "last_modified": now, "e_tag": None, "version": None}
        for path, size in [("logs", 0), ("logs/a", 0), ("logs/a/1", 9), ("logs/b", 0)]
    ]
    monkeypatch.setattr(obstore, "list", lambda *_, **__: iter([listed]))
    store = MemoryStore()
    obstore.put(store, "logs/b", b"")
    page = ObjectReader(PLACE, store).list_after("logs", "")
    assert [info.path for info in page.files] == ["logs/b"]
    assert page.directories == ("a",)


def test_a_machine_without_an_identity_is_told_what_to_set() -> None:
    """Whichever store it is: all three clouds ask the same address."""
    asked = obstore.exceptions.GenericError(
        "Error performing PUT http://169.254.169.254/latest/api/token in 4 s"
    )
    assert reason(asked).startswith("No credentials were found")
    for name in ("AWS_ACCESS_KEY_ID", "AZURE_STORAGE_ACCOUNT_KEY", "GOOGLE_SERVICE_ACCOUNT"):
        assert name in remedy(asked)
