"""Trees that are copied within a bucket of Azure and of Google: their ETags say nothing of content.

Both are emulators.
"""

from __future__ import annotations

import uuid

import obstore
import pytest

from holdfast.storage.copying import Progress, copy_tree
from holdfast.storage.hadoop_settings import from_session
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer, open_writer
from lab.azurite import Azurite
from lab.gcs import Gcs

FILES = {
    **{f"offsets/{number}": f"v1\n{number}".encode() for number in range(50)},
    "offsets/.0.crc": b"crc",
    "state/a b/ü+.zip": bytes(range(256)) * 4_097,
}


def open_both(server: Azurite | Gcs) -> tuple[Writer, Writer]:
    home = f"{server.root}/{uuid.uuid4().hex}"
    places = [parse_location(f"{home}/{name}") for name in ("from", "to")]
    settings = server.spark_settings()
    source, target = (open_writer(each, from_session(settings, each)) for each in places)
    for path, data in FILES.items():
        source.put(path, data)
    return source, target


def files_of(reader: Reader) -> dict[str, bytes | None]:
    return {info.path: reader.read(info.path) for info in reader.walk()}


@pytest.mark.parametrize("store", ["azurite", "gcs"])
def test_within_a_bucket_the_store_copies(
    store: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = open_both(request.getfixturevalue(store))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the file was written")

    with monkeypatch.context() as patched:
        patched.setattr(obstore, "put", refuse)
        patched.setattr(obstore, "open_writer", refuse)
        *_, done = copy_tree(source, target)
    assert done.copied == done.verified == len(FILES)
    assert files_of(target) == FILES
    *_, again = copy_tree(source, target)
    assert again == Progress(found_there=len(FILES), verified=len(FILES))
