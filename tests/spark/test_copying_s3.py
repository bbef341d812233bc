"""Trees that are copied within one bucket, and between a bucket and a disk."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import GenericError

from holdfast.errors import WriteError
from holdfast.storage import write_objects
from holdfast.storage.copying import Progress, copy_tree, list_tree
from holdfast.storage.options import from_hadoop
from holdfast.storage.read import CHUNK_BYTES, Reader
from holdfast.storage.write import Writer, open_writer
from lab import S3
from lab.s3 import READER

FILES = {
    **{f"offsets/{number}": f"v1\n{number}".encode() for number in range(1200)},
    "offsets/.0.crc": b"crc",
    "state/a b/ü%20+.zip": os.urandom((1 << 20) + 1),
    "state/large.zip": os.urandom(3 * CHUNK_BYTES + 5),
}


@pytest.fixture
def options(s3: S3) -> dict[str, str]:
    return from_hadoop(s3.spark_settings(), bucket="lake")


@pytest.fixture
def source(options: dict[str, str]) -> Writer:
    writer = open_writer(f"s3a://lake/copying/{uuid.uuid4().hex}/from ü", options)
    for path, data in FILES.items():
        writer.put(path, data)
    return writer


@pytest.fixture
def target(options: dict[str, str]) -> Writer:
    return open_writer(f"s3a://lake/copying/{uuid.uuid4().hex}/to", options)


def finish(source: Reader, target: Writer) -> Progress:
    *_, last = copy_tree(source, target)
    return last


def files_of(reader: Reader) -> dict[str, bytes | None]:
    return {info.path: reader.read(info.path) for info in reader.walk()}


def test_within_a_bucket_the_store_copies(
    source: Writer, target: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And tells by its ETags that the content is the same: no file is read or written."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the file was read or written")

    with monkeypatch.context() as patched:
        for name in ("get", "get_range", "put", "open_writer"):
            patched.setattr(obstore, name, refuse)
        done = finish(source, target)
        assert (done.copied, done.verified) == (len(FILES), len(FILES))
        assert finish(source, target) == Progress(found_there=len(FILES), verified=len(FILES))
    assert files_of(target) == FILES
    assert list_tree(target).count == len(FILES)


def test_with_other_credentials_files_are_read_and_written(
    source: Writer, target: Writer, options: dict[str, str]
) -> None:
    """The account that may write one need not be able to read the other."""
    reads_only = open_writer(source.location, {**options, "access_key_id": READER})
    finish(reads_only, target)
    assert files_of(target) == FILES


def test_what_is_too_large_for_the_store_to_copy_is_read_and_written(
    source: Writer, target: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise GenericError("EntityTooLarge")

    monkeypatch.setattr(obstore, "copy", refuse)
    with pytest.raises(WriteError, match="EntityTooLarge"):
        target.copy_from(source, "state/large.zip", to="copy")
    assert target.read("copy") is None
    monkeypatch.setattr(write_objects, "SURELY_COPIED_BYTES", CHUNK_BYTES)
    target.copy_from(source, "state/large.zip", to="copy")
    assert target.read("copy") == FILES["state/large.zip"]
    with pytest.raises(WriteError):
        target.copy_from(source, "none", to="none")


def test_to_a_disk_and_back(source: Writer, target: Writer, tmp_path: Path) -> None:
    disk = open_writer(str(tmp_path))
    assert finish(source, disk).copied == len(FILES)
    assert files_of(disk) == FILES
    assert finish(disk, target).copied == len(FILES)
    assert files_of(target) == FILES
    assert finish(disk, target).found_there == len(FILES)
