"""`holdfast inspect` on a real bucket, as an account that may only read it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid

import obstore
import pytest

from holdfast.cli.exit_codes import ExitCode
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
    put(s3, prefix, "4.2-aggregation-format-2")
    return prefix


def put(s3: S3, prefix: str, archive: str, *, without: str = "") -> None:
    for path, raw in open_archive(archive).checkpoint.files.items():
        if path != without:
            obstore.put(s3.store(), f"{prefix}/{path}", raw)


def inspect(s3: S3, place: str, *asked: str) -> subprocess.CompletedProcess[str]:
    """Run the command as an account that may only read."""
    options = [f"--storage-option={name}={value}" for name, value in reader_options(s3).items()]
    command = [sys.executable, "-m", "holdfast", "inspect", f"s3a://lake/{place}", *asked]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [*command, *options], check=False, capture_output=True, text=True, env=clean
    )


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
    asked = ["--state", "--files", "--batch", "3", "--format", "json"]
    ran = inspect(s3, prefix, *asked)
    assert ran.returncode == ExitCode.DONE
    document = json.loads(ran.stdout)
    assert document["next_start"]["kind"] == "resumes"
    assert sum(store["rows"] for store in document["stores"]) == 6
    assert {f"{prefix}/{file['path']}" for file in document["files"]} == set(before)
    assert listing(s3, prefix) == before


def test_every_checkpoint_below_a_prefix_is_a_row(s3: S3, prefix: str) -> None:
    """A prefix is no directory: `orders` is one of `orders.g2` too."""
    put(s3, f"{prefix}-all/orders", "4.2-kafka", without="offsets/5")
    put(s3, f"{prefix}-all/orders.g2", "4.2-kafka", without="commits/6")
    put(s3, f"{prefix}-all/team/raw", "4.2-aggregation-format-2")
    before = listing(s3, f"{prefix}-all")
    ran = inspect(s3, f"{prefix}-all", "--check")
    assert ran.returncode == ExitCode.FOUND
    lines = ran.stdout.splitlines()
    assert lines[0] == "3 checkpoints: 1 resumes, 1 repeats data, 1 will not start."
    assert [line.split()[0] for line in lines[3:6]] == ["orders", "orders.g2", "team/raw"]
    asked = inspect(s3, f"{prefix}-all", "--format", "json")
    document = json.loads(asked.stdout)
    assert [row["verdict"] for row in document["checkpoints"]] == [
        "will-not-start",
        "repeats-data",
        "safe",
    ]
    assert document["checkpoints"][0]["location"] == f"s3://lake/{prefix}-all/orders"
    assert listing(s3, f"{prefix}-all") == before


def test_an_object_in_the_place_of_a_checkpoint_is_a_file(s3: S3, prefix: str) -> None:
    obstore.put(s3.store(), f"{prefix}.txt", b"notes")
    ran = inspect(s3, f"{prefix}.txt", "--check")
    assert ran.returncode == ExitCode.FOUND
    assert ran.stdout.startswith("Spark will refuse to start: the checkpoint location is a file")
