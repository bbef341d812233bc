r"""The form that Spark's text logs share: a version line, then lines of JSON.

Grammar, from Spark 4.3 `checkpointing/HDFSMetadataLog.scala` and `MetadataVersionUtil.scala`:

    v<positive integer>
    <line>*

UTF-8, and bytes that are not are an error. Lines end with \n, \r\n or \r (Scala's `getLines`);
one line end at the end of the file begins no further line. An empty file is "incomplete".
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from holdfast.checkpoint.unparsed import Unparsed

_LINE_END = re.compile(r"\r\n|\n|\r")
_VERSION = re.compile(r"v([1-9][0-9]{0,8})")
_SHOWN = 40
_MOST_LINES = 10_000
"""A line per source: no query has more. Each costs a hundred bytes, and a file can be all ends."""
_LARGEST = 2**63 - 1


class VersionedText(msgspec.Struct, frozen=True, kw_only=True):
    """A text log entry whose version line was understood."""

    version: int
    lines: tuple[str, ...]
    """Those after the version line."""


def parse_versioned(path: str, raw: bytes, *, newest: int) -> VersionedText | Unparsed:
    """Split a log entry into its version and its lines.

    Args:
        path: Of the entry, to be named when it cannot be parsed.
        raw: Its content.
        newest: The newest version this Holdfast knows of this log.
    """
    lines = split_lines(raw)
    if lines is None:
        return Unparsed(path=path, reason="it is not UTF-8 text")
    if not lines:
        return Unparsed(path=path, reason="the file is empty", spark_says="Incomplete log file")
    if len(lines) > _MOST_LINES:
        return Unparsed(path=path, reason=f"it has more than {_MOST_LINES:,} lines")
    matched = _VERSION.fullmatch(lines[0])
    if matched is None:
        shown = lines[0][:_SHOWN]
        return Unparsed(
            path=path,
            reason=f"its first line is {shown!r}, not a version such as 'v1'",
            spark_says="malformed",
        )
    version = int(matched[1])
    if version > newest:
        return Unparsed(
            path=path,
            reason=f"version v{version} is newer than v{newest}, the newest known here",
            spark_says="UnsupportedLogVersion",
        )
    return VersionedText(version=version, lines=tuple(lines[1:]))


def split_lines(raw: bytes) -> list[str] | None:
    """Return the lines of a text as Spark's reader sees them; None when it is not UTF-8.

    Beyond the most that make sense, the rest of the text is one more line.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # Nothing but \n in by far the most: a million partitions are one line of 20 MB.
    most = _MOST_LINES
    lines = _LINE_END.split(text, most) if "\r" in text else text.split("\n", most)
    if lines[-1] == "":
        lines.pop()
    return lines


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, or None when it is not JSON; `null` is None too."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def parse_json_object(text: str) -> dict[str, object] | None:
    """Return a JSON object, or None when the text is not one."""
    value = parse_json(text)
    return value if isinstance(value, dict) else None


def parse_leading_object(text: str) -> dict[str, object] | None:
    """Return the JSON object that a text begins with, or None when it begins with none.

    Spark's parser stops at the end of the object, and does not look at what follows.
    """
    found = parse_json_object(text)
    if found is not None:
        return found
    end = leading_json(text)
    return None if end is None else parse_json_object(end)


def leading_json(text: str) -> str | None:
    """Return the part of a text that is its first JSON value; None when it begins with none."""
    import json  # noqa: PLC0415 - only damaged files need it

    begun = text.lstrip(" \t\r\n")
    try:
        _, end = json.JSONDecoder().raw_decode(begun)
    except (ValueError, RecursionError):
        return None
    return begun[:end]


def whole_number(value: object) -> int | None:
    """Return an integer of a JSON value; None for anything else, and what no Java long can be."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -_LARGEST - 1 <= value <= _LARGEST else None


def canonical(value: object) -> str:
    """Return JSON that is the same for the same value: sorted, without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
