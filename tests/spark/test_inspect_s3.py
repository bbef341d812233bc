"""`holdfast inspect` on a real bucket, by somebody who may only read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid

import obstore
import pytest

from holdfast.errors import WriteError
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import open_writer
from lab import S3
from lab.s3 import READER
from tests.unit.checkpoint.archives import open_archive


@pytest.fixture
def prefix(s3: S3) -> str:
    """Put a checkpoint with state into the bucket."""
    prefix = f"inspect/{uuid.uuid4().hex}"
    for path, raw in open_archive("4.2-aggregation-format-2").checkpoint.files.items():
        obstore.put(s3.store(), f"{prefix}/{path}", raw)
    return prefix


def listing(s3: S3, prefix: str) -> dict[str, tuple[object, ...]]:
    return {
        each["path"]: (each["e_tag"], each["size"], each["last_modified"])
        for page in obstore.list(s3.store(), prefix)
        for each in page
    }


def reader_options(s3: S3) -> dict[str, str]:
    return {**from_hadoop(s3.spark_settings(), bucket="lake"), "access_key_id": READER}


def test_the_reader_may_really_not_write(s3: S3, prefix: str) -> None:
    with pytest.raises(WriteError):
        open_writer(f"s3://lake/{prefix}", reader_options(s3)).put("x", b"1")


def test_read_only_rights_are_enough_and_nothing_changes(s3: S3, prefix: str) -> None:
    before = listing(s3, prefix)
    assert len(before) > 50
    options = [f"--storage-option={name}={value}" for name, value in reader_options(s3).items()]
    command = [sys.executable, "-m", "holdfast", "inspect", f"s3a://lake/{prefix}"]
    asked = ["--state", "--files", "--batch", "3", "--format", "json"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ran = subprocess.run(
        [*command, *asked, *options], check=True, capture_output=True, text=True, env=clean
    )
    document = json.loads(ran.stdout)
    assert document["nextStart"]["kind"] == "resumes"
    assert sum(store["rows"] for store in document["stores"]) == 6
    assert {f"{prefix}/{file['path']}" for file in document["files"]} == set(before)
    assert listing(s3, prefix) == before
