"""When the log entries of a checkpoint were written, by the store's clock."""

from __future__ import annotations

from datetime import datetime

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.storage.read import Reader


def collect_times(reader: Reader) -> dict[str, datetime]:
    """Return when every file in both logs was last written, by its path.

    Raises:
        ReadError: A log cannot be listed.
    """
    return {
        info.path: info.modified for log in (OFFSETS, COMMITS) for info in reader.list(log).files
    }
