"""The storage contract on Azurite, Microsoft's emulator of Azure's blob storage.

`HOLDFAST_ALL=1` runs it whole; directories of thousands of files take it minutes.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import obstore
import pytest

from holdfast.record.leases import take_lease
from holdfast.record.owner import this_process
from holdfast.storage.hadoop_settings import from_session
from holdfast.storage.location import parse_location
from holdfast.storage.write import Writer, open_writer
from holdfast.storage.write_objects import ObjectWriter
from holdfast.testing.storage_contract import StorageContract
from lab.azurite import Azurite

pytestmark = pytest.mark.sampled(15)


def open_new(azurite: Azurite) -> ObjectWriter:
    location = parse_location(f"{azurite.root}/{uuid.uuid4().hex}")
    writer = open_writer(location, from_session(azurite.spark_settings(), location))
    assert isinstance(writer, ObjectWriter)
    return writer


class TestAzure(StorageContract):
    @pytest.fixture
    def storage(self, azurite: Azurite) -> Writer:
        return open_new(azurite)


@pytest.mark.parametrize("_", range(20))
def test_of_two_drivers_one_gets_the_lease(_: int, azurite: Azurite) -> None:
    record = open_new(azurite)
    with ThreadPoolExecutor(4) as drivers:
        races = [
            drivers.submit(take_lease, record, this_process(), takeover=True) for _ in range(4)
        ]
        epochs = [race.result().epoch for race in races]
    assert sorted(epochs) == [1, 2, 3, 4]


def test_an_empty_blob_that_marks_a_directory_is_not_a_file(azurite: Azurite) -> None:
    """Hadoop's ABFS makes one for every directory of an account without a hierarchy."""
    storage = open_new(azurite)
    storage.put("commits", b"")
    storage.put("commits/0", b"v1\n{}")
    obstore.put(storage.store, "offsets", b"", attributes={"hdi_isfolder": "true"})
    storage.put("empty", b"")
    found = storage.list()
    assert [info.path for info in found.files] == ["empty"]
    assert found.directories == ("commits", "offsets")
    page = storage.list_after("", "")
    assert ([info.path for info in page.files], page.directories) == (["empty"], found.directories)
    assert [info.path for info in storage.walk()] == ["commits/0", "empty"]
    assert [info.path for info in storage.walk_page("").files] == ["commits/0", "empty"]
    assert storage.stat("offsets") is None
    assert storage.stat("empty") is not None
