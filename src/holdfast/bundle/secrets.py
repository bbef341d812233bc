"""Takes secrets out of the files of a bundle, so that the files can still be parsed.

A line of JSON stays JSON: its strings are looked at one by one, and the value of a key that names a
secret is replaced whole. Any other line is text.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import unquote

from holdfast.bundle.manifest import Removal
from holdfast.redact import HIDDEN, SECRET_NAME, Redacted, find_credentials

_PEM = "-----BEGIN "
_NAMED = "value of a secret's name"


class Cleaned(NamedTuple):
    """A file without its secrets."""

    content: bytes
    removed: tuple[Removal, ...]


def clean_file(path: str, content: bytes) -> Cleaned:
    """Return a file without its secrets; the same bytes when it has none."""
    text = content.decode("utf-8", "surrogateescape")
    removed: list[Removal] = []
    if _PEM in text:
        text = _clean_text(text, path, removed)
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        found: list[tuple[str, str]] = []
        lines[number - 1] = _clean_string(line, found, "")
        removed += [
            Removal(file=path, place=f"line {number}{key}", kind=kind) for key, kind in found
        ]
    return Cleaned("\n".join(lines).encode("utf-8", "surrogateescape"), tuple(removed))


def clean_name(path: str) -> Redacted:
    """Return the path of a file without the secrets in it, percent-encoded ones too."""
    found = find_credentials(path)
    if found.kinds:
        return found
    decoded = find_credentials(unquote(path))
    return decoded if decoded.kinds else found


def clean_value(value: object, found: list[tuple[str, str]], key: str = "") -> object:
    """Return a JSON value without its secrets.

    Args:
        value: What was decoded.
        found: Gets the key and the kind of each secret.
        key: Where the value is.
    """
    if isinstance(value, str):
        return _clean_string(value, found, key)
    if isinstance(value, list):
        return [clean_value(each, found, f"{key}[{at}]") for at, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    cleaned = {}
    for name, each in value.items():
        shown, _ = find_credentials(name)
        place = f"{key}, key {shown}"
        if shown != name:
            found.append((place, "name of a key"))
        is_named = SECRET_NAME.search(name) and isinstance(each, str) and each
        if is_named and each != HIDDEN:
            found.append((place, _NAMED))
        cleaned[shown] = HIDDEN if is_named else clean_value(each, found, place)
    return cleaned


def _clean_string(text: str, found: list[tuple[str, str]], key: str) -> str:
    """Return a string without its secrets; one that holds JSON, as Kafka's offsets do, stays so."""
    inside = _clean_json(text, found, key)
    if inside is not None:
        return inside
    shown, kinds = find_credentials(text)
    found += [(key, kind) for kind in kinds]
    return shown


def _clean_json(text: str, found: list[tuple[str, str]], key: str) -> str | None:
    """Return a JSON text without its secrets; None if it is none, or is nested too deeply."""
    before = len(found)
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        cleaned = clean_value(json.loads(text), found, key)
        is_same = len(found) == before
        return text if is_same else json.dumps(cleaned, separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        del found[before:]
        return None


def _clean_text(text: str, path: str, removed: list[Removal]) -> str:
    shown, kinds = find_credentials(text)
    removed += [Removal(file=path, place="the file", kind=kind) for kind in kinds]
    return shown
