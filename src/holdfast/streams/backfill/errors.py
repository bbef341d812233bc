"""Why a backfill was refused, or stopped part-way."""

from __future__ import annotations

from holdfast.errors import HoldfastError


class BackfillRefusedError(HoldfastError):
    """A backfill was refused; nothing was written."""

    code = "BACKFILL_REFUSED"

    def __init__(self, stream: str, *, why: str, how: str) -> None:
        self.stream = stream
        super().__init__(
            what=f"{stream} was not backfilled; nothing was written.", why=why, how=how
        )


class BackfillStoppedError(HoldfastError):
    """A backfill ended before its last chunk; the chunks before it are in the sinks."""

    code = "BACKFILL_STOPPED"

    def __init__(self, stream: str, *, done: int, chunks: int, why: str) -> None:
        self.done = done
        """How many chunks every sink holds."""
        super().__init__(
            what=f"The backfill of {stream} stopped after {done} of {chunks} chunks.",
            why=why,
            how="Run the same command again: it continues after the last chunk that arrived.",
        )
