"""The checkpoints that real Spark wrote, from `tests/checkpoints`, in memory."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.storage.memory import MemoryStorage

DIRECTORY = Path(__file__).parents[2] / "checkpoints"
ARCHIVES = sorted(path.name.removesuffix(".tar.xz") for path in DIRECTORY.glob("*.tar.xz"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """One checkpoint, and what Spark itself says about it."""

    name: str
    checkpoint: MemoryStorage
    output: MemoryStorage
    """What a file sink keeps beside its data; empty when there is none."""
    answers: dict[str, Any]

    @property
    def batches(self) -> dict[int, dict[str, Any]]:
        """What Spark reported of each batch; of one that ran twice, the last."""
        return {batch["batchId"]: batch for run in self.answers["runs"] for batch in run["batches"]}


@cache
def open_archive(name: str) -> Archive:
    """Unpack a checkpoint into memory; its files must not be changed."""
    files: dict[str, bytes] = {}
    with tarfile.open(DIRECTORY / f"{name}.tar.xz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                files[member.name.removeprefix("./")] = content.read()
    answers = json.loads(files["answers.json"])

    def below(directory: str) -> MemoryStorage:
        found = {path: raw for path, raw in files.items() if path.startswith(f"{directory}/")}
        return MemoryStorage({path.partition("/")[2]: raw for path, raw in found.items()})

    return Archive(
        name=name, checkpoint=below("checkpoint"), output=below("output"), answers=answers
    )
