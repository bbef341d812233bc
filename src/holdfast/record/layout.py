"""Where everything of a stream is: a pure function of root, stream and generation.

    <root>/sensor-raw-ingest                generation 1: a plain Spark checkpoint
    <root>/sensor-raw-ingest.g2             generation 2, after a reset
    <root>/_holdfast/sensor-raw-ingest/     the record; nothing of ours is inside a checkpoint

Listings always end in `/`: `sensor-raw-ingest` is a prefix of `sensor-raw-ingest.g2`.
"""

from __future__ import annotations

import re

from holdfast.errors import ConfigError
from holdfast.storage.location import Location

HOME = "_holdfast"
QUERIES = "_queries"
"""Of the home: what `hf.record_queries` writes of sessions; no stream has such a name."""
GENERATIONS = "generations"
LEASES = "leases"
CONTRACTS = "contracts"
RUNS = "runs"
ACCEPTED = "accepted"
GRANTED = "granted"
BATCHES = "batches"
REMOVED = "removed"
REPAIRS = "repairs"
JOURNAL = "journal"
INPUTS = "inputs"
SNAPSHOTS = "snapshots"
BACKFILLS = "backfills"
KEPT = "kept"
"""What a plan has taken from the place of a plain checkpoint, by plan and step."""
KINDS = (
    REMOVED,
    GENERATIONS,
    LEASES,
    CONTRACTS,
    RUNS,
    ACCEPTED,
    GRANTED,
    BATCHES,
    REPAIRS,
    JOURNAL,
    SNAPSHOTS,
    INPUTS,
    BACKFILLS,
    KEPT,
)

SIX_DIGITS = 1_000_000
"""Epochs below it sort by their names as by their numbers."""

_STREAM = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_DATE = re.compile(r"(?<![0-9])(19|20)[0-9]{2}-?(0[1-9]|1[0-2])-?(0[1-9]|[12][0-9]|3[01])(?![0-9])")
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_TEMP_ROOTS = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108 - recognised, not used


def check_stream_name(stream: str) -> None:
    """Refuse a name that cannot be the name of a stream for its whole life.

    Raises:
        ConfigError: It is not of the form, or changes with every start.
    """
    given: object = stream
    if not isinstance(given, str) or not is_stream_name(given):
        raise ConfigError(
            f"The stream's name {stream!r} is not one: lower-case letters, digits and hyphens, "
            "beginning with a letter or digit, 63 at most."
        )
    if (found := changing_name(stream)) is not None:
        raise ConfigError(
            f"The stream's name {stream!r} holds {found}. A name that changes makes every start a "
            "new stream, which reads everything again or skips it. Name the stream after what it "
            "does; Holdfast numbers its generations itself."
        )


def changing_name(stream: str) -> str | None:
    """Return what of a stream's name looks as if it were another one at every start."""
    for found, kind in ((_DATE.search(stream), "a date"), (_UUID.search(stream), "a uuid")):
        if found:
            return f"{kind} ({found[0]})"
    return None


def is_stream_name(name: str) -> bool:
    """Return whether a name is of the form that the name of a stream must have."""
    return _STREAM.fullmatch(name) is not None


def changing_part(root: Location) -> str | None:
    """Return what of a root looks as if it were another one at every start: a date or a uuid."""
    found = _DATE.search(root.path) or _UUID.search(root.path)
    return found[0] if found else None


def is_temporary(root: Location) -> bool:
    """Return whether a root is in a temporary directory, which a reboot may delete."""
    return root.is_local and f"{root.path}/".startswith(_TEMP_ROOTS)


def checkpoint_location(root: Location, stream: str, generation: int) -> Location:
    """Return where a generation's checkpoint is, unless an adopted one is elsewhere."""
    return root.join(generation_name(stream, generation))


def generation_name(stream: str, generation: int) -> str:
    """Return the name of the directory of a generation's checkpoint."""
    return stream if generation == 1 else f"{stream}.g{generation}"


def record_location(root: Location, stream: str) -> Location:
    """Return where the record of a stream is."""
    return root.join(HOME, stream)


def generation_path(generation: int) -> str:
    """Return the path of a generation's file in the record."""
    return f"{GENERATIONS}/{generation:04d}.json"


def lease_path(epoch: int) -> str:
    """Return the path of an epoch's lease in the record."""
    return f"{LEASES}/{epoch:06d}.json"


def contract_path(digest: str) -> str:
    """Return the path of a contract in the record."""
    return f"{CONTRACTS}/{digest}.json"


def run_path(epoch: int, run_id: str) -> str:
    """Return the path of a run in the record."""
    return f"{RUNS}/{epoch:06d}-{run_id}.json"


def acceptance_path(number: int, code: str) -> str:
    """Return the path of an acceptance in the record."""
    return f"{ACCEPTED}/{number:04d}-{code}.json"


def grant_path(code: str, nonce: str) -> str:
    """Return the path of a grant in the record."""
    return f"{GRANTED}/{code}-{nonce}.json"


def repair_path(repair: str, what: str) -> str:
    """Return the path of one of the two files of a repair in the record."""
    return f"{REPAIRS}/{repair}-{what}.json"


def kept_path(plan: str, number: int) -> str:
    """Return where a plan keeps a directory that it empties.

    Args:
        plan: Its id.
        number: Of the directory, from 1.
    """
    return f"{KEPT}/{plan}/{number}"


def journal_path(repair: str) -> str:
    """Return the path of the directory of a repair's journal in the record."""
    return f"{JOURNAL}/{repair}"


def batch_path(generation: int, batch: int, of: str) -> str:
    """Return the path of a batch that was written down; without an ending."""
    return f"{BATCHES}/{generation:04d}-{batch:06d}-{of}"


def backfill_location(record: Location, name: str) -> Location:
    """Return where the record of a backfill is, below that of its stream."""
    return record.join(BACKFILLS, name)
