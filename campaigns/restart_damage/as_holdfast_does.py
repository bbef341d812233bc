"""The same stream guarded, into PostgreSQL or Delta; the driver of the damage table's last column.

python as_holdfast_does.py '{"bootstrap": …, "topic": …, "root": …, "into": …, …}'    (READINGS_DSN)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfast as hf
from campaigns.restart_damage.as_the_web_advises import Config, read_rows
from holdfast.streams.refusal import StartRefusedError

SINKS: dict[str, Callable[[Config], Any]] = {
    "jdbc": lambda _: hf.Postgres("env:READINGS_DSN", table="readings"),
    "delta": lambda config: hf.Delta(path=config["target"]),
}


def main(config: Config) -> None:
    """Run the stream over all there is in the topic; when it is refused, leave the code."""
    try:
        query = hf.start(
            read_rows(config),
            stream="readings",
            root=config["root"],
            into=SINKS[config["into"]](config),
            trigger={"availableNow": True},
        )
    except StartRefusedError as error:
        Path(config["refused"]).write_text(error.findings[0].code)
        raise
    query.awaitTermination()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
