"""Every distinct file of the checkpoints that real Spark wrote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tests.fuzz.parsers import Parser, parser_of
from tests.unit.checkpoint.archives import ARCHIVES, open_archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """One file as Spark wrote it; of several with the same content, the first."""

    archive: str
    path: str
    raw: bytes
    parser: Parser

    @property
    def name(self) -> str:
        """What a case names it by."""
        return f"{self.archive}:{self.path}"


@cache
def distinct_files() -> tuple[Specimen, ...]:
    """Return every file that differs from the others of its kind by its content."""
    found: dict[tuple[str, bytes], Specimen] = {}
    for archive in ARCHIVES:
        opened = open_archive(archive)
        for path, raw in (*opened.checkpoint.files.items(), *opened.output.files.items()):
            parser = parser_of(path, raw)
            specimen = Specimen(archive=archive, path=path, raw=raw, parser=parser)
            found.setdefault((parser.kind, raw), specimen)
    return tuple(found.values())
