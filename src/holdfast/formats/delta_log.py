"""The log of a Delta table, as far as a ledger needs it: whose a commit is, and what it did.

Read as files, without Spark: `_delta_log/<version>.json`, one action per line. Only `commitInfo`,
`txn` and `metaData` are looked at. The newest version is found by asking for the next ones, not
by listing: a table can have a hundred thousand commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.storage.read import Reader

LOG = "_delta_log"
_LAST_CHECKPOINT = f"{LOG}/_last_checkpoint"
_AT_ONCE = 16
_ACTIONS = (b'"commitInfo"', b'"txn"', b'"metaData"')
_HEAD_BYTES = 24
"""Of a line: its action is named there."""

NATIVE_FENCE = 1 << 62
"""What the version of a query that is replaced is raised to: Delta leaves out all it still does."""
_REPLACING = ("TRUNCATE", "REPLACE TABLE", "CREATE OR REPLACE TABLE", "CREATE TABLE", "CLONE")
"""Operations, by how their names begin, that leave nothing of what was there before."""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit says of itself."""

    version: int
    operation: str = ""
    parameters: Mapping[str, object] = msgspec.field(default_factory=dict)
    note: str = ""
    """Its user metadata."""
    transactions: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The version that it sets for an application, by the application's id."""
    schema: str | None = None
    """The table's columns from then on, as Delta writes them; None when it does not set them."""
    table_id: str | None = None
    """None when it does not set the table's metadata."""
    settings: Mapping[str, object] | None = None
    """The table's properties from then on; None when it does not set them."""
    created_ms: int | None = None
    """When the table was created; None when it does not set the table's metadata."""
    written_ms: int | None = None
    """When it was made, by the clock of its driver."""
    metrics: Mapping[str, object] = msgspec.field(default_factory=dict)
    """What it counted: rows, files."""
    engine: str = ""
    """What made it, as Delta names it: `Apache-Spark/4.2.1 Delta-Lake/4.4.1`."""
    is_cut: bool = False
    """Whether a line of it is not a JSON object: the file is damaged."""


def read_commit(reader: Reader, version: int) -> Commit | None:
    """Read a commit; None when it is not there: not made yet, or cleaned up."""
    raw = reader.read(commit_path(version))
    return None if raw is None else parse_commit(version, raw)


def parse_commit(version: int, raw: bytes) -> Commit:
    """Return what the lines of a commit say; what is not understood says nothing."""
    info: Mapping[str, object] = {}
    transactions: dict[str, int] = {}
    table: Mapping[str, object] = {}
    is_cut = not raw.rstrip().endswith(b"}")
    for line in raw.splitlines():
        head = line[:_HEAD_BYTES]
        if not any(name in head for name in _ACTIONS):
            continue
        action = parse_json_object(line.decode("utf-8", "replace"))
        is_cut, action = is_cut or action is None, action or {}
        found, txn = action.get("commitInfo"), action.get("txn")
        metadata = action.get("metaData")
        if isinstance(metadata, dict):
            table = metadata
        if isinstance(found, dict):
            info = found
        if isinstance(txn, dict) and (number := whole_number(txn.get("version"))) is not None:
            transactions[str(txn.get("appId"))] = number
    schema, table_id = table.get("schemaString"), table.get("id")
    return Commit(
        version=version,
        operation=str(info.get("operation", "")),
        parameters=_object(info, "operationParameters"),
        note=str(info.get("userMetadata", "")),
        transactions=transactions,
        schema=schema if isinstance(schema, str) else None,
        table_id=table_id if isinstance(table_id, str) else None,
        settings=_object(table, "configuration") if table else None,
        created_ms=whole_number(table.get("createdTime")),
        written_ms=whole_number(info.get("timestamp")),
        metrics=_object(info, "operationMetrics"),
        engine=str(info.get("engineInfo", "")),
        is_cut=is_cut,
    )


def _object(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def newest_version(reader: Reader, *, known: int | None = None) -> int | None:
    """Return the newest version of a table; None when there is no table.

    Args:
        reader: Of the table.
        known: A version that is known to be there.
    """
    low = known
    if low is None:
        low = checkpointed_version(reader)
        if low is None:
            low = 0 if reader.stat(commit_path(0)) is not None else None
    if low is None:
        return _newest_listed(reader)
    step = 1
    while reader.stat(commit_path(low + step)) is not None:
        low += step
        step *= 2
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        if reader.stat(commit_path(middle)) is not None:
            low = middle
        else:
            high = middle
    return low


def walk_back(reader: Reader, newest: int) -> Iterator[Commit]:
    """Yield the commits from a version down to the oldest that is still there."""
    first = read_commit(reader, newest) if newest >= 0 else None
    if first is None:
        return
    yield first  # mostly it is the one
    if newest == 0:
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for highest in range(newest - 1, -1, -_AT_ONCE):
            versions = range(highest, max(highest - _AT_ONCE, -1), -1)
            for found in pool.map(lambda version: read_commit(reader, version), versions):
                if found is None:
                    return
                yield found


def checkpointed_version(reader: Reader) -> int | None:
    """Return the version of the newest checkpoint, if its commit is there."""
    raw = reader.read(_LAST_CHECKPOINT)
    found = parse_json_object((raw or b"").decode("utf-8", "replace")) or {}
    version = whole_number(found.get("version"))
    is_there = version is not None and reader.stat(commit_path(version)) is not None
    return version if is_there else None


def _newest_listed(reader: Reader) -> int | None:
    names = (info.path.rpartition("/")[2] for info in reader.list(LOG).files)
    stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return max((int(stem) for stem in stems if stem.isdigit()), default=None)


def commit_path(version: int) -> str:
    """Return the path of a commit below its table."""
    return f"{LOG}/{version:020d}.json"


def find_native_batch(reader: Reader, query_id: str) -> int | None:
    """Return the last batch that Delta's own sink has brought for a query; None when none is found.

    Its application id is the query's id, its version the batch.
    """
    newest = newest_version(reader)
    for commit in walk_back(reader, newest) if newest is not None else ():
        version = commit.transactions.get(query_id)
        if version is not None and version < NATIVE_FENCE:
            return version
    return None


def is_replacing(commit: Commit, since: int) -> bool:
    """Return whether a commit takes out what was there: restored, overwritten, emptied.

    Args:
        commit: Of somebody else.
        since: The version of the stream's newest commit before it.
    """
    mode = str(commit.parameters.get("mode", ""))
    if commit.operation == "RESTORE":
        to = commit.parameters.get("version")
        return not (str(to).isdigit() and int(str(to)) >= since)
    if commit.operation == "DELETE":
        return str(commit.parameters.get("predicate", "[]")) in ("[]", '["true"]')
    is_complete = commit.parameters.get("outputMode") == "Complete"
    return commit.operation.startswith(_REPLACING) or mode == "Overwrite" or is_complete
