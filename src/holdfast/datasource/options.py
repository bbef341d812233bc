"""What a writer of `format("holdfast")` is told: options of Spark, strings without secrets."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

import msgspec

from holdfast.errors import ConfigError, without_our_frames
from holdfast.record.bounds import MAX_TERM_S, MIN_TERM_S
from holdfast.record.contracts import SinkContract
from holdfast.record.generations import current_generation
from holdfast.record.layout import check_stream_name, checkpoint_location, record_location
from holdfast.sinks.kinds import sink_of
from holdfast.sinks.parts import refuse_other_kinds
from holdfast.sinks.session import place_of, writer_of
from holdfast.sinks.sink import SinkSpec
from holdfast.storage.location import (
    Location,
    needs_session,
    parse_location,
    refuse_credentials,
    spark_location,
)

LEASE_SECONDS = 60.0
"""A lease is renewed by every batch, and by nothing between two batches."""
_NAMED = re.compile(r"(env|file):")
_TOKEN = re.compile(r"[0-9a-f]{32}")
STREAM, INTO, ROOT, ACCEPT, TAKEOVER, LEASE, START, CHECKPOINT = (
    "stream",
    "into",
    "root",
    "accept",
    "takeover",
    "leaseSeconds",
    "start",
    "checkpointLocation",
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of one query say."""

    stream: str
    sink: SinkSpec
    root: str
    checkpoint: Location
    """Where Spark keeps the query's checkpoint."""
    accept: str | None
    takeover: bool
    lease_seconds: float
    start: str
    """By which a start finds its lease again: the options are made once for each start."""


@without_our_frames
def guard_options(  # noqa: PLR0913 - what the guard needs, each by name
    *,
    stream: str,
    into: SinkSpec,
    root: str | None = None,
    checkpoint: str | None = None,
    accept: str | None = None,
    takeover: bool = False,
    lease_seconds: float = LEASE_SECONDS,
) -> dict[str, str]:
    """Return the options of `df.writeStream.format("holdfast")` for a guarded stream.

    They hold the names of secrets, never a secret. Make them anew for every start.

    Args:
        stream: As for `start`.
        into: The sink: `hf.Postgres`, with `env:NAME` or `file:PATH` for its DSN.
        root: As for `start`.
        checkpoint: Where Spark keeps it; by default below the root. Empty: a pipeline decides.
        accept: As for `start`.
        takeover: As for `start`.
        lease_seconds: How long another driver waits for this one after its last batch.

    Raises:
        ConfigError: The sink cannot be written so, or something cannot be told by options.
    """
    check_stream_name(stream)
    _check_places(root=root, checkpoint=checkpoint)
    home = _home(root or _root_of_session())
    given = {
        STREAM: stream,
        INTO: msgspec.json.encode(_contract_of(into)).decode(),
        ROOT: str(home),
        LEASE: str(_seconds(str(lease_seconds))),
        START: uuid.uuid4().hex,
    }
    if checkpoint != "":
        given[CHECKPOINT] = checkpoint or spark_location(_own_checkpoint(home, stream))
    given |= {ACCEPT: accept} if accept else {}
    return given | ({TAKEOVER: "true"} if takeover else {})


def _check_places(**given: object) -> None:
    """Refuse what is no text, or holds credentials: Spark shows its options."""
    for name, place in given.items():
        if place is not None and not isinstance(place, str):
            raise ConfigError(f"{name}= takes text, not {place!r}.")
        if place:
            parse_location(place)


def read_options(options: Mapping[str, str]) -> Asked:
    """Return what options say; they are Spark's, without regard to case.

    Raises:
        ConfigError: They are not of the form that `guard_options` returns.
    """
    known = {name.lower(): value for name, value in options.items()}
    missing = [name for name in (STREAM, INTO, ROOT, START) if not known.get(name)]
    if missing:
        raise ConfigError(
            f'format("holdfast") has no option {missing[0]}. Give it .options(**hf.guard_options('
            "stream=…, into=…, root=…))."
        )
    if not known.get(CHECKPOINT.lower()):
        raise ConfigError(
            'format("holdfast") needs the option checkpointLocation: hf.guard_options gives it.'
        )
    check_stream_name(known[STREAM])
    if not _TOKEN.fullmatch(known[START]):
        raise ConfigError(f"The option {START} is not what hf.guard_options returns.")
    return Asked(
        stream=known[STREAM],
        sink=_sink_of(known[INTO]),
        root=str(_home(known[ROOT])),
        checkpoint=parse_location(known[CHECKPOINT.lower()]),
        accept=known.get(ACCEPT),
        takeover=known.get(TAKEOVER, "").lower() == "true",
        lease_seconds=_seconds(known.get(LEASE.lower())),
        start=known[START],
    )


def _home(root: str) -> Location:
    """Return the root: somewhere that Python workers of Spark can open, which have no session."""
    if needs_session(root):
        raise ConfigError(
            f'{root} can only be opened through a Spark session, and format("holdfast") runs in '
            "Spark's Python workers, which have none. Use a root on a shared disk or in a bucket, "
            "or hf.start."
        )
    home = place_of(None, root)
    refuse_credentials(str(home))
    return home


def _root_of_session() -> str:
    from pyspark.sql import SparkSession

    from holdfast.streams.place import ROOT_SETTING

    spark = SparkSession.getActiveSession()
    root = spark.conf.get(ROOT_SETTING, None) if spark is not None else None
    if not root:
        raise ConfigError(f"Give root=, or set {ROOT_SETTING} in the session.")
    return root


def _own_checkpoint(home: Location, stream: str) -> Location:
    """Return the checkpoint of the current generation, or of the first one."""
    known = current_generation(writer_of(None, record_location(home, stream)))
    return parse_location(known.checkpoint) if known else checkpoint_location(home, stream, 1)


def _contract_of(sink: SinkSpec) -> SinkContract:
    if not isinstance(sink, SinkSpec):
        raise ConfigError('into= takes one sink, such as hf.Postgres("env:DSN", table="readings").')
    refuse_other_kinds(sink)
    if sink.secret is None or not _NAMED.match(sink.secret):
        raise ConfigError(
            f"{sink.display_name} cannot be told by options: its secret is not a name. Give it as "
            "env:NAME or file:PATH, or use hf.start."
        )
    if sink.why_not_sent is not None:
        raise ConfigError(
            f'format("holdfast") cannot write into {sink.display_name}: {sink.why_not_sent}, or '
            "use hf.start."
        )
    return SinkContract(
        kind=sink.kind,
        place=sink.place,
        label=sink.label,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        secret=sink.secret,
    )


def _sink_of(text: str) -> SinkSpec:
    try:
        sink = sink_of(msgspec.json.decode(text, type=SinkContract))
    except msgspec.MsgspecError as error:
        raise ConfigError("The option into is not what hf.guard_options returns.") from error
    if sink is None:
        raise ConfigError("The option into names a sink that is not known here.")
    return sink


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or LEASE_SECONDS)
    except ValueError:
        seconds = 0.0
    if not MIN_TERM_S <= seconds <= MAX_TERM_S:
        raise ConfigError(
            f"The lease's seconds ({LEASE}) must be from {MIN_TERM_S:.0f} to {MAX_TERM_S:.0f}."
        )
    return seconds
