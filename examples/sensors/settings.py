"""Where the pipeline reads, writes and remembers: one value, from one settings file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

DSN_NAME = "SENSORS_DSN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensors:
    """Where the pipeline reads, writes and remembers."""

    topic: str
    bootstrap: str = ""
    """Kafka's brokers."""
    files: str = ""
    """Without Kafka: the directory that `landing.py` writes messages into."""
    lake: str
    """Base location of the tables: `s3a://lake/sensors`."""
    checkpoints: str
    """Base location of the checkpoints, one per stream below it."""
    postgres: str = f"env:{DSN_NAME}"
    """Where the DSN of PostgreSQL is found, as Holdfast takes it; empty to write Delta alone."""
    dsn: str = ""
    """The DSN itself, for what reads the tables without Holdfast: `plain.py` and `judge.py`."""
    messages_per_batch: int = 100_000
    trigger: str = "10 seconds"

    def table(self, name: str) -> str:
        """Return the location of a table: raw, typed, quarantine, gold or usage."""
        return f"{self.lake}/{name}"


def load_settings(file: str | Path) -> Sensors:
    """Read the settings file; `sensors.toml` beside this module is one, with every setting.

    Raises:
        SystemExit: A setting is missing or unknown.
    """
    given = tomllib.loads(Path(file).read_text())
    known = {"bootstrap", "topic", "files", "root", "postgres", "messages_per_batch", "trigger"}
    missing = [f"{name} is missing" for name in ("topic", "root") if name not in given]
    unknown = [f"{name} is no setting" for name in sorted(given.keys() - known)]
    if bool(given.get("bootstrap")) == bool(given.get("files")):
        missing.append("one of bootstrap and files must be set")
    if missing or unknown:
        raise SystemExit(f"{file}: {'; '.join(missing + unknown)}")
    root = given.pop("root").rstrip("/")
    return Sensors(lake=root, checkpoints=f"{root}/checkpoints", **{"postgres": "", **given})
