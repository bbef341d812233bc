"""Files in place of a Kafka topic: one JSON object per message, keys and values in base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path

from examples.sensors.messages import Message


def land(directory: Path, topic: str, messages: Sequence[Message], *, per_file: int) -> None:
    """Write messages as files, each of which appears complete."""
    directory.mkdir(parents=True, exist_ok=True)
    there = len(list(directory.glob("*.json")))
    parts = [messages[at : at + per_file] for at in range(0, len(messages), per_file)]
    for number, part in enumerate(parts, start=there):
        draft = directory / f".{number:06d}"  # Spark's file source passes over names with a dot
        draft.write_text("".join(f"{_line(topic, each)}\n" for each in part))
        draft.rename(directory / f"{number:06d}.json")


def _line(topic: str, message: Message) -> str:
    return json.dumps(
        {
            "topic": topic,
            "partition": message.partition,
            "offset": message.offset,
            "timestamp": message.timestamp.isoformat(),
            "key": base64.b64encode(message.key).decode(),
            "value": base64.b64encode(message.value).decode(),
        }
    )
