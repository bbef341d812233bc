from __future__ import annotations

import pytest

from holdfast.storage.memory import MemoryStorage
from holdfast.storage.write import Writer
from holdfast.testing.storage_contract import StorageContract


class TestMemory(StorageContract):
    @pytest.fixture
    def storage(self) -> Writer:
        return MemoryStorage()
