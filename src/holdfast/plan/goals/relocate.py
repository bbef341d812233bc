"""What a checkpoint says of its own place, as a copy must say it.

The metadata of some operators with state (transformWithState; joins of format 3 and 4) names their
schema files by absolute paths. A copy that still names the old place starts until that is deleted.
"""

from __future__ import annotations

import json
import re
from typing import Any

from holdfast.checkpoint.layout import STATE
from holdfast.storage.location import Location, spark_location
from holdfast.storage.read import Reader

_SCHEMA = re.compile(r"/state/[0-9]+/_stateSchema/.+\Z")
_S3 = re.compile(r"s3[an]?(?=://)")


def relocate(checkpoint: Reader, target: Location) -> dict[str, str]:
    """Return the files of a checkpoint that name its place, as they must be in another one.

    A file that is damaged is left alone: it is copied as it is.

    Args:
        checkpoint: What is copied.
        target: Where to.
    """
    found = {}
    for operator in checkpoint.list(STATE).directories:
        for info in checkpoint.list(f"{STATE}/{operator}/_metadata/v2").files:
            is_entry = info.path.rpartition("/")[2].isdecimal()
            raw = checkpoint.read(info.path) if is_entry else None
            content = None if raw is None else _relocated(raw, target)
            if content is not None:
                found[info.path] = content
    return found


def _relocated(raw: bytes, target: Location) -> str | None:
    """Return operator metadata with other paths; None when there is none to change."""
    try:
        version, _, text = raw.decode().partition("\n")
        value = json.loads(text)
        changed = [_change(store, target) for store in value["stateStoreInfo"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not any(changed):
        return None
    return f"{version}\n{json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"


def _change(store: dict[str, Any], target: Location) -> bool:
    """Change the paths of one store; return whether any is another one now."""
    old = store.get("stateSchemaFilePaths")
    if not old:
        return False
    store["stateSchemaFilePaths"] = [_moved(each, target) for each in old]
    return bool(store["stateSchemaFilePaths"] != old)


def _moved(path: str, target: Location) -> str:
    schema = _SCHEMA.search(path)
    if schema is None:
        return path
    there = spark_location(target)
    if target.is_local:
        there = f"file:{target.path}"
    scheme = _S3.match(path)
    if scheme is not None:
        there = _S3.sub(scheme[0], there, count=1)
    return f"{there}{schema[0]}"
