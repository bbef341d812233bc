"""What a query tells of the last batch that it has finished: Spark's progress, as JSON."""

from __future__ import annotations

import json

from holdfast.ledger.coverage import canonical_offset
from holdfast.spark.plans import Untold


def read_progress(text: str) -> Untold:
    """Return the last finished batch and where it ended.

    A trigger that ran no batch tells the number of the next one, and where the last one ended.

    Args:
        text: The progress, as Spark writes it.
    """
    told = json.loads(text)
    number, has_run = int(told["batchId"]), "addBatch" in (told.get("durationMs") or {})
    last = number if has_run else number - 1
    ends = [each.get("endOffset") for each in told.get("sources") or ()]
    return Untold(
        last_batch=last if last >= 0 else None,
        # A source that has given nothing yet has none, and `offsets/N` has no line of it either.
        end_offsets=tuple(None if each is None else canonical_offset(_text(each)) for each in ends),
    )


def _text(offset: object) -> str:
    return offset if isinstance(offset, str) else json.dumps(offset)
