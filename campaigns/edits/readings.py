"""What the streams of edits read: files with the same readings again and again."""

from __future__ import annotations

import json
import os

from pyspark.sql import DataFrame, SparkSession

from campaigns.edits.edit import Scene

_SCHEMA = "a string, b string, x long, y long, t timestamp"
TIME = 1_700_000_000
LINES = (
    ("p", "q", 1, 100, "2026-01-01T23:30:00Z"),
    ("p", "q", 3, 300, "2026-01-01T23:35:00Z"),
    ("r", "s", 2, 200, "2026-01-01T23:40:00Z"),
)


def add(scene: Scene, name: str, number: int, *lines: tuple[object, ...]) -> None:
    """Add a file, which is read after those with a lower number."""
    path = scene.files(name) / f"f{number:03}"
    rows = (dict(zip(("a", "b", "x", "y", "t"), line, strict=True)) for line in lines)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    os.utime(path, (TIME + number, TIME + number))  # read in this order


def feed(scene: Scene, number: int) -> None:
    """Add the same readings again, and later one that is half an hour late."""
    add(scene, "in", number, *LINES)
    if number:
        add(scene, "in", number + 1, ("late", "q", 5, 500, "2026-01-01T23:00:00Z"))


def feed_two(scene: Scene, number: int) -> None:
    """Add the same readings again, and one to a second directory."""
    add(scene, "in", number, *LINES)
    add(scene, "other", number, (f"o{number}", "q", 1, 1, "2026-01-01T23:50:00Z"))


def read(spark: SparkSession, scene: Scene, name: str = "in") -> DataFrame:
    """Read a directory of files as a stream, one file in a batch."""
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(scene.files(name)))
