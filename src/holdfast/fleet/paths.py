"""Where checkpoints are, from a file: a list of locations, or an S3 Inventory. Replaces discovery.

A list has one location per line; empty lines and lines that begin with `#` are left out. An S3
Inventory is CSV (`.csv`, `.csv.gz`) with the bucket and the URL-encoded key in its first columns:
every key of a log entry names the checkpoint that it is in.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO
from urllib.parse import unquote_plus

from holdfast.errors import ConfigError, LocationError
from holdfast.storage.location import Location, parse_location

_ENTRY = re.compile(r"(?P<root>.+)/(?:offsets|commits)/(?:0|[1-9][0-9]{0,18})")
_INVENTORY = (".csv", ".csv.gz")


def read_locations(source: str) -> Iterator[Location]:
    """Yield the location of every checkpoint that a file names, each once.

    Raises:
        ConfigError: The file cannot be read, or a line is no location.
    """
    path = Path(source)
    read = _read_inventory if source.endswith(_INVENTORY) else _read_list
    seen: set[Location] = set()
    try:
        with _open(path) as file:
            for place in read(file, path):
                if place not in seen:
                    seen.add(place)
                    yield place
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _read_list(file: TextIO, path: Path) -> Iterator[Location]:
    for number, line in enumerate(file, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        yield _parse(text, number, path)


def _read_inventory(file: TextIO, path: Path) -> Iterator[Location]:
    for number, fields in enumerate(csv.reader(file), start=1):
        if len(fields) < 2:
            raise ConfigError(
                f"Line {number:,} of {path} has no bucket and key: is it an inventory?"
            )
        matched = _ENTRY.fullmatch(unquote_plus(fields[1]))
        if matched is not None:
            yield _parse(f"s3://{fields[0]}/{matched['root']}", number, path)


def _parse(text: str, number: int, path: Path) -> Location:
    try:
        return parse_location(text)
    except LocationError as error:
        raise ConfigError(f"Line {number:,} of {path}: {error.why}") from error
