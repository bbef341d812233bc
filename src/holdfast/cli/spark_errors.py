"""`--error FILE|-`: a log of a driver or a stack trace, read piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from holdfast.errors import ConfigError
from holdfast.evidence.spark_error import ErrorReport, read_spark_errors

_PIECE = 1 << 16


def read_error_file(name: str) -> ErrorReport:
    """Return what a log or a stack trace tells of the last failure.

    Args:
        name: A file; `-` is stdin.

    Raises:
        ConfigError: The file cannot be read.
    """
    if name == "-":
        return read_spark_errors(_pieces(sys.stdin))
    path = Path(name)
    if not path.is_file():
        raise ConfigError(f"--error {name}: there is no such file.")
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return read_spark_errors(_pieces(file))
    except OSError as error:
        raise ConfigError(f"--error {name}: {error.strerror}.") from None


def _pieces(file: TextIO) -> Iterator[str]:
    while piece := file.read(_PIECE):
        yield piece
