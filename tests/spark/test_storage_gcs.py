"""The storage contract on fake-gcs-server, an emulator of Google Cloud Storage.

`HOLDFAST_ALL=1` runs it whole.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from holdfast.record.leases import take_lease
from holdfast.record.owner import this_process
from holdfast.storage.hadoop_settings import from_session
from holdfast.storage.location import parse_location
from holdfast.storage.read import CHUNK_BYTES
from holdfast.storage.write import Writer, open_writer
from holdfast.testing.storage_contract import StorageContract
from lab.gcs import BUCKET, Gcs

pytestmark = pytest.mark.sampled(15)


def open_new(gcs: Gcs) -> Writer:
    location = parse_location(f"{gcs.root}/{uuid.uuid4().hex}")
    return open_writer(location, from_session(gcs.spark_settings(), location))


class TestGcs(StorageContract):
    @pytest.fixture
    def storage(self, gcs: Gcs) -> Writer:
        return open_new(gcs)

    @pytest.mark.parametrize("size", [0, 5, CHUNK_BYTES])
    def test_a_file_of_another_store_is_copied_in_pieces(self, storage: Writer, size: int) -> None:
        """In one piece: the emulator does not know uploads in several parts."""
        super().test_a_file_of_another_store_is_copied_in_pieces(storage, size)


@pytest.mark.parametrize("_", range(20))
def test_of_two_drivers_one_gets_the_lease(_: int, gcs: Gcs) -> None:
    record = open_new(gcs)
    with ThreadPoolExecutor(4) as drivers:
        races = [
            drivers.submit(take_lease, record, this_process(), takeover=True) for _ in range(4)
        ]
        epochs = [race.result().epoch for race in races]
    assert sorted(epochs) == [1, 2, 3, 4]


def test_a_marker_of_a_directory_is_not_a_file(gcs: Gcs) -> None:
    """Google's connector makes one for every directory: an empty object whose name ends in /."""
    storage = open_new(gcs)
    # By the connector's API: obstore drops a slash at the end of a name.
    name = quote(f"{storage.location.path}/commits/", safe="")
    upload = f"{gcs.address}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
    with urlopen(upload, data=b"", timeout=10):
        pass
    storage.put("commits/0", b"v1\n{}")
    found = storage.list()
    assert (found.files, found.directories) == ((), ("commits",))
    assert [info.path for info in storage.walk()] == ["commits/0"]
