"""Random rows with late ones and duplicates, in files that are read one by one."""

from __future__ import annotations

import json
import os
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FIRST = datetime(2026, 1, 1, 6)  # noqa: DTZ001 - Spark reads it in the session's zone
KINDS = ("a", "b", "c", "d")
_OLD = 1_700_000_000


def write_kinds(spark: Any, home: Path) -> None:
    """Write the table that rows are joined with, and then another version of it."""
    place = str(home / "kinds")
    for label in ("first", "second"):
        rows = [(kind, f"{label} {kind}") for kind in KINDS[:3]]
        table = spark.createDataFrame(rows, "kind string, label string").coalesce(1)
        table.write.format("delta").mode("overwrite").save(place)


def write_file(home: Path, number: int, choose: random.Random, *, rows: int) -> None:
    """Write one file: a quarter of an hour later than the one before, with some rows late."""
    lines = [json.dumps(_row(number, choose)) for _ in range(rows)]
    place = home / "in" / f"part {number:04}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(lines) + "\n")
    os.utime(place, (_OLD + number, _OLD + number))  # read in this order


def _row(number: int, choose: random.Random) -> dict[str, Any]:
    late = choose.choice((0, 0, 0, 0, 12, 25, 60, 240, *((720,) if number else ())))
    minutes = number * 15 + choose.randint(0, 14) - late
    at = FIRST + timedelta(minutes=minutes, seconds=choose.choice((0, 0, 30)))
    # An id comes again within minutes, or hours later.
    return {
        "id": number * 6 + choose.randint(0, 9),
        "kind": choose.choice(KINDS),
        "amount": choose.randint(-5, 20),
        "at": at.isoformat(sep=" "),
    }
