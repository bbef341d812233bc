"""A store that counts requests as S3 would: one for every 1,000 names of a listing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from holdfast.record.contracts import Contract
from holdfast.record.documents import encode
from holdfast.record.layout import contract_path, lease_path, run_path
from holdfast.record.leases import Lease
from holdfast.record.owner import Owner
from holdfast.record.runs import Run
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page

RUN_ID = "308f0242-442c-4f8c-9e68-5b944bf5e6ae"
CONTRACT = Contract(
    sources=("FileSource[/srv/in]",),
    sinks=("readings",),
    output_mode="append",
    operators=(),
    state_provider="",
)
LEASE = Lease(
    epoch=1,
    owner=Owner(host="etl-7", pid=4411, machine="another boot", pid_started="1"),
    token="17" * 16,
    nonce="7b" * 16,
    released=True,
)
RUN = Run(
    epoch=1,
    run_id=RUN_ID,
    generation=1,
    contract=CONTRACT.digest,
    spark="4.2",
    started_at="2026-11-15T06:00:00+00:00",
    first_batch=0,
)


class CountedStorage(MemoryStorage):
    """Counts requests, by what was asked for."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        super().__init__(files)
        self.requests: Counter[str] = Counter()

    def list(self, directory: str = "") -> Listing:
        found = super().list(directory)
        entries = len(found.files) + len(found.directories)
        self.requests["list"] += max(1, -(-entries // PAGE_ENTRIES))
        return found

    def list_after(self, directory: str, after: str) -> Page:
        self.requests["list"] += 1
        return super().list_after(directory, after)

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        found = [*super().walk(directory)]
        self.requests["list"] += max(1, -(-len(found) // PAGE_ENTRIES))
        yield from found

    def stat(self, path: str) -> FileInfo | None:
        self.requests["head"] += 1
        return super().stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        self.requests["get"] += 1
        return super().read(path, start=start, length=length)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self.requests["put"] += 1
        return super().put_if_absent(path, data)

    def put(self, path: str, data: bytes) -> None:
        self.requests["put"] += 1
        super().put(path, data)


def record_of(starts: int) -> CountedStorage:
    """Return the record of a stream that was started so often, each time until its query ran."""
    files = {contract_path(CONTRACT.digest): encode(CONTRACT)}
    for epoch in range(1, starts + 1):
        files[lease_path(epoch)] = encode(msgspec.structs.replace(LEASE, epoch=epoch))
        files[run_path(epoch, RUN_ID)] = encode(msgspec.structs.replace(RUN, epoch=epoch))
    return CountedStorage(files)
