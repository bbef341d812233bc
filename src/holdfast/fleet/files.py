"""Scans as files: Parquet where pyarrow is installed, JSON lines otherwise.

A directory keeps one file per scan, so it can be read as one table. A file appears when its scan
has ended: one that was interrupted leaves none that a later scan would be compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import msgspec

from holdfast import clock
from holdfast.confinement import refuse_outside
from holdfast.errors import ConfigError, MissingExtraError
from holdfast.fleet.rows import FleetRow, parse_row, to_record

PARQUET, LINES = ".parquet", ".jsonl"
_PREFIX = "fleet-"


def has_pyarrow() -> bool:
    """Return whether Parquet can be written and read here."""
    return find_spec("pyarrow") is not None


def file_for(target: str) -> Path:
    """Return the file that a scan is written to.

    Args:
        target: A file that ends in `.parquet` or `.jsonl`, or a directory, in which each scan gets
            a file of its own.

    Raises:
        ConfigError: The file has another ending, or its directory does not exist or cannot be made.
        MissingExtraError: Parquet is asked for and pyarrow is not installed.
    """
    path = Path(target)
    if path.suffix in {PARQUET, LINES} and not path.is_dir():
        if path.suffix == PARQUET and not has_pyarrow():
            raise MissingExtraError("Writing Parquet", module="pyarrow", extra="state")
        if not path.parent.is_dir():
            raise ConfigError(f"{path.parent} is not a directory: create it, then scan again.")
        return path
    if path.suffix and not path.is_dir():
        raise ConfigError(f"{path}: end the file in {PARQUET} or {LINES}, or name a directory.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    ending = PARQUET if has_pyarrow() else LINES
    return path / f"{_PREFIX}{clock.now():%Y%m%dT%H%M%S%f}{ending}"


def write_rows(path: Path, rows: Iterable[FleetRow]) -> Iterator[FleetRow]:
    """Write rows to a file while they pass by; it gets its name when they have ended.

    Raises:
        ConfigError: It cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        yield from _writer(path)(str(part), rows)
        part.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path} cannot be written: {error.strerror or error}.")


def _writer(path: Path) -> Callable[[str, Iterable[FleetRow]], Iterator[FleetRow]]:
    if path.suffix == LINES:
        return _write_lines
    from holdfast.fleet.arrow import write_parquet  # noqa: PLC0415 - an extra

    return write_parquet


def _write_lines(path: str, rows: Iterable[FleetRow]) -> Iterator[FleetRow]:
    with Path(path).open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode(to_record(row)) + b"\n")
            yield row


def has_scan(directory: str) -> bool:
    """Return whether a directory keeps a scan."""
    return any(Path(directory).glob(f"{_PREFIX}*"))


def newest_file(source: str) -> Path:
    """Return the file of a scan; of a directory, the newest one in it.

    Raises:
        ConfigError: There is none.
    """
    path = Path(source)
    if not path.is_dir():
        if path.is_file():
            return path
        raise ConfigError(f"There is no scan at {path}: write one with `holdfast fleet scan --to`.")
    found = [each for each in path.iterdir() if each.suffix in {PARQUET, LINES}]
    found = [each for each in found if not each.name.startswith(".")]
    found = [each for each in found if each.name.startswith(_PREFIX)] or found
    if not found:
        raise ConfigError(f"{path} has no scan: write one with `holdfast fleet scan --to {path}`.")
    return max(found, key=lambda each: each.name)


def read_rows(source: str) -> Iterator[FleetRow]:
    """Yield the rows of a scan.

    Args:
        source: A file, or a directory with one file per scan: then the newest.

    Raises:
        ConfigError: It is not there, or is no scan.
        OutsideRootsError: It may not be opened.
        MissingExtraError: It is Parquet, and pyarrow is not installed.
    """
    path = newest_file(source)
    refuse_outside(path)
    try:
        for number, row in enumerate(_read(path), start=1):
            if row is None:
                raise ConfigError(f"Row {number:,} of {path} is not a row of a fleet scan.")
            yield row
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"{path} cannot be read as a scan: {first}") from error


def _read(path: Path) -> Iterator[FleetRow | None]:
    if path.suffix != PARQUET:
        yield from _read_lines(path)
        return
    if not has_pyarrow():
        raise MissingExtraError("Reading Parquet", module="pyarrow", extra="state")
    from holdfast.fleet.arrow import read_parquet  # noqa: PLC0415 - an extra

    yield from read_parquet(str(path))


def _read_lines(path: Path) -> Iterator[FleetRow | None]:
    with path.open("rb") as file:
        for line in file:
            found = msgspec.json.decode(line)
            yield parse_row(found) if isinstance(found, dict) else None
