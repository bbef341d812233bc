"""What earlier runs of a batch have left: rows that were materialised, and versions of state.

Several sinks get a batch from rows that its first run materialised in the record. A batch that is
to be computed again must not find them. A batch that one sink holds and another one lacks must find
them, also under the digest that a repair gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.layout import STATE
from holdfast.ledger.coverage import Coverage
from holdfast.plan.entries import removal, remove_file
from holdfast.plan.steps import PutFile, Step
from holdfast.plan.world import StreamNow
from holdfast.record.batches import find_journalled, list_journalled
from holdfast.record.documents import encode
from holdfast.storage.read import Reader

_VERSION = re.compile(
    r"\.?(?P<version>[0-9]+)(_[0-9a-f-]+)?\.(delta|snapshot|zip|changelog)(\.crc)?"
)
_OPERATOR = re.compile(r"state/[0-9]+/_metadata/v2/\.?(?P<batch>[0-9]+)(\.crc)?")


def forget_materialised(now: StreamNow, first: int) -> Iterator[Step]:
    """Yield the steps after which the batches from a number on are computed again.

    The rows stay where they are: the file that names them is copied aside, and undo gives it back.
    """
    for path in list_journalled(now.record, now.generation, first=first):
        raw = now.record.read(path)
        if raw is not None:
            why = "The batch is computed again. With this file its old rows would be written."
            yield removal(now, str(now.record.location), path=path, raw=raw, why=why)


def rename_materialised(now: StreamNow, digest: str | None, covered: Coverage) -> Iterator[Step]:
    """Yield the steps after which a sink that lacks a batch gets the rows that another one holds.

    Args:
        now: The stream, as it is now.
        digest: Under which the batch was written to the sink that holds it.
        covered: The same batch, as the checkpoint describes it after the repair.
    """
    if digest is None or digest == covered.digest:
        return
    found = find_journalled(now.record, now.generation, covered.batch_id, digest=digest)
    raw = None if found is None else now.record.read(found.path)
    if found is None or raw is None:
        return
    renamed = msgspec.structs.replace(found, digest=covered.digest)
    place = str(now.record.location)
    yield PutFile(
        stream=now.stream,
        place=place,
        path=renamed.path,
        content=encode(renamed).decode(),
        why="The sink that lacks the batch gets the rows that the other sink holds.",
    )
    why = "It names the same rows under a digest that the batch no longer has."
    yield removal(now, place, path=found.path, raw=raw, why=why)


def find_later_state(reader: Reader, batch: int) -> Iterator[str]:
    """Yield the files of state that batches after a number have written, without those of it."""
    for info in reader.walk(STATE):
        version = _VERSION.fullmatch(info.path.rpartition("/")[2])
        operator = _OPERATOR.fullmatch(info.path)
        if version and int(version["version"]) > batch + 1:
            yield info.path
        if operator and int(operator["batch"]) > batch:
            yield info.path


def forget_state(now: StreamNow, first: int) -> Iterator[Step]:
    """Yield the steps that remove the state which batches from a number on have written.

    A batch that runs again writes its changes again. A snapshot of the same version that an earlier
    run has written would be loaded in their place.
    """
    why = "Spark would load it in place of the state that the batch writes when it runs again."
    seen: set[str] = set()
    for path in find_later_state(now.checkpoint, first - 1):
        for step in remove_file(now, path, why=why):
            if step.path not in seen:
                seen.add(step.path)
                yield step
