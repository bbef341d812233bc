"""What one file of a checkpoint asks of S3 through s3a, as it was counted.

`python -m benchmarks.checkpoint_cost --only S3 --where` counts them, with Spark 4.2 and Hadoop
3.4: docs/explanation/checkpoint-cost.md.
"""

from __future__ import annotations

import msgspec


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """Requests by what stores charge for."""

    writes: float
    """PUT, COPY, POST and LIST."""
    reads: float
    """GET and HEAD."""
    deletes: float

    def times(self, number: float) -> Requests:
        """Return those of so many files."""
        return Requests(
            writes=self.writes * number, reads=self.reads * number, deletes=self.deletes * number
        )


LOG_FILE = Requests(writes=12, reads=13, deletes=2)
STATE_FILE = Requests(writes=11, reads=12, deletes=2)
DATA_FILE = Requests(writes=3, reads=4, deletes=1)


def requests_of(*, log_files: float, state_files: float, data_files: float) -> Requests:
    """Return what a batch asks for.

    Args:
        log_files: Entries of logs that it writes, under a temporary name that is then changed.
        state_files: Deltas, changelogs and snapshots that it writes.
        data_files: Of RocksDB, which keep their names.
    """
    each = (LOG_FILE.times(log_files), STATE_FILE.times(state_files), DATA_FILE.times(data_files))
    return Requests(
        writes=sum(part.writes for part in each),
        reads=sum(part.reads for part in each),
        deletes=sum(part.deletes for part in each),
    )
