"""Contracts: what a query is, as a guarded start saw it. One file for each form it ever had.

With the generation (checkpoint, query id), the runs (restarts) and the checkpoint itself (offsets),
these are the nine facts that are collected before any advice is given. From a contract alone every
ledger can be found. Of a source only options of an allow-list are written down, of a sink the name
of its secret: other options, and secrets, can hold passwords.

Version 1 knew the names of sources, sinks and operators alone; version 2 neither watermarks nor
what state is computed from; version 3 no lock against a reset; version 4 not which columns of state
cannot be NULL. They are still read under their own
digests, and a comparison of two versions is one of what both know.

A contract informs. One that is broken or missing is *unknown*: the start goes on, says so, and does
not take a sink for a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.printable import printable
from holdfast.record.bounds import (
    KindName,
    Line,
    Names,
    PathText,
    SecretName,
    Settings,
    Sources,
    Text,
    Version,
)
from holdfast.record.documents import Document, RecordError, create, read_document, replace
from holdfast.record.generations import Generation
from holdfast.record.last_run import last_run_of
from holdfast.record.layout import contract_path
from holdfast.record.runs import newest_run
from holdfast.redact import has_credentials
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

_Fact = str | Sequence[str] | None
_FORMAT = "holdfast.contract"
_SINCE_2 = ("spark", "source_options", "sink_places", "operator_keys", "settings")
_SINCE_3 = ("operator_parts", "watermarks")
_SINCE_4 = ("reset",)
_SINCE_5 = ("operator_not_null",)
_SINCE = {
    1: (*_SINCE_2, *_SINCE_3, *_SINCE_4, *_SINCE_5),
    2: (*_SINCE_3, *_SINCE_4, *_SINCE_5),
    3: (*_SINCE_4, *_SINCE_5),
    4: _SINCE_5,
}
"""What a contract of an older version does not have."""
_WITH_WATERMARKS = 3
_SHOWN = {
    "kind": "kind",
    "place": "place",
    "keys": "keys",
    "sequence_by": "order column",
    "secret": "secret's name",
}
SOURCE_FORM = ("format", "schema")
"""Kept beside the options of a source: its format, and a hash of its columns. Older contracts have
neither. A changed schema is no change of the source."""
LARGEST_BYTES = 4 << 20
"""A Kafka source names its topics: 16,000 of the longest names fit."""


class SinkContract(msgspec.Struct, frozen=True, kw_only=True):
    """One sink of a query: enough to open its ledger again, and nothing secret."""

    kind: KindName
    """As its spec is registered: `postgres`, `delta`."""
    place: PathText
    """Where its rows are: a table's location, or its database and name; without credentials."""
    label: Text
    """Its name in the ledger."""
    keys: Names = ()
    sequence_by: Text | None = None
    secret: SecretName | None = None
    """The name of its secret; None if it has none, or if a function returns it."""

    def __post_init__(self) -> None:
        """Refuse a place with a user, a password or a query string."""
        if "://" in self.place and has_credentials(self.place):
            raise ValueError("the place of a sink holds credentials")


class Contract(Document, frozen=True, kw_only=True, tag=_FORMAT):
    """What a query is. What an older version did not have is empty in its contracts: not known."""

    version: Version = 5
    sources: Sources
    """Each as Spark names it, in the order of the query: `kafka`, `FileSource[s3a://lake/in]`."""
    sinks: Names
    """The label of each."""
    output_mode: Line
    operators: Names
    """Of those with state, their names in the order of their ids."""
    state_provider: Line
    """Class of the state store's provider, without its package; empty without state."""
    spark: Line = ""
    """The version that started the query."""
    source_options: Annotated[tuple[Settings, ...], Meta(max_length=10_000)] = ()
    """Of each source, the options that are safe to keep, and `SOURCE_FORM`."""
    sink_places: Annotated[tuple[SinkContract, ...], Meta(max_length=10_000)] = ()
    """Where each sink's ledger is found; a sink without one need not be there."""
    operator_keys: Annotated[tuple[Text | None, ...], Meta(max_length=10_000)] = ()
    """Of each operator, the key of its state as Spark writes a type; None if the plan hides it."""
    settings: Settings = msgspec.field(default_factory=dict)
    """What Spark pins in the checkpoint, as the session had it; the checkpoint's own values win.
    From version 3 on also settings that Spark does not pin, and that change results."""
    operator_parts: Annotated[tuple[Names | None, ...], Meta(max_length=10_000)] = ()
    """Of each operator, what its state is computed from, in the order in which Spark binds it:
    aggregate functions, or pairs of join keys; None if the plan hides it."""
    operator_not_null: Annotated[tuple[Names | None, ...], Meta(max_length=10_000)] = ()
    """Of each operator, the columns of state that cannot be NULL: `default key 0`; None if the plan
    hides them. Spark refuses one that could not be NULL and can be."""
    watermarks: Names = ()
    """Each as its column and its delay: `event_time 10 minutes`."""
    reset: Line = ""
    """`forbidden` when the code locks the stream against a reset; empty when it does not."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        if any(getattr(self, name) for name in _SINCE.get(self.version, ())):
            raise ValueError(f"version {self.version} has no such fields")
        pairs = (
            (self.source_options, self.sources),
            (self.operator_keys, self.operators),
            (self.operator_parts, self.operators),
            (self.operator_not_null, self.operators),
        )
        if any(known and len(known) != len(names) for known, names in pairs):
            raise ValueError("there is not one for each source or operator")
        labels = [each.label for each in self.sink_places]
        if len(set(labels)) < len(labels) or not set(labels) <= set(self.sinks):
            raise ValueError("a place is of no sink, or of one that has another")

    @property
    def digest(self) -> str:
        """Names the file: the same contract is the same file."""
        found = msgspec.structs.asdict(self)
        for name in _SINCE.get(self.version, ()):
            del found[name]
        tagged = {"format": _FORMAT, **found}
        return sha256(msgspec.json.encode(tagged, order="sorted")).hexdigest()[:16]

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return contract_path(self.digest)


def tell_changes(old: Contract, new: Contract) -> tuple[str, ...]:
    """Say what of a query has changed, one sentence each; only of what both contracts know."""
    before, after = _facts(old), _facts(new)
    return tuple(
        f"{printable(name)} changed from {_told(before[name])} to {_told(fact)}"
        for name, fact in after.items()
        if name in before and before[name] != fact
    )


def _facts(contract: Contract) -> dict[str, _Fact]:
    """Return everything that a contract knows, by what it is called."""
    found: dict[str, _Fact] = {
        "its sources": contract.sources,
        "its sinks": contract.sinks,
        "its output mode": contract.output_mode,
        "its operators with state": contract.operators,
        "its state store": contract.state_provider,
    }
    if contract.spark:
        found["its Spark version"] = contract.spark
    for sink in contract.sink_places:
        for name, shown in _SHOWN.items():
            found[f"the {shown} of its sink {sink.label}"] = getattr(sink, name)
    for number, options in enumerate(contract.source_options):
        told = tuple(
            f"{name}={value}" for name, value in sorted(options.items()) if name not in SOURCE_FORM
        )
        found[f"the options of its source {number} ({contract.sources[number]})"] = told
    for name, value in sorted(contract.settings.items()):
        found[f"its setting {name}"] = value
    return found | _facts_of_state(contract)


def _facts_of_state(contract: Contract) -> dict[str, _Fact]:
    found: dict[str, _Fact] = {}
    for number, key in enumerate(contract.operator_keys):
        found[f"the key of its operator {number} ({contract.operators[number]})"] = key
    for number, parts in enumerate(contract.operator_parts):
        found[f"what operator {number} ({contract.operators[number]}) keeps"] = parts
    for number, required in enumerate(contract.operator_not_null):
        name = f"operator {number} ({contract.operators[number]})"
        found[f"which columns of {name} cannot be NULL"] = required
    if contract.version >= _WITH_WATERMARKS:
        found["its watermarks"] = contract.watermarks
    return found


def _told(fact: _Fact) -> str:
    return printable((fact if isinstance(fact, str) else ", ".join(fact or ())) or "none")


def keep_contract(writer: Writer, contract: Contract) -> None:
    """Write a contract down, unless it is there already; a failure is logged and stops nothing."""
    try:
        if not create(writer, contract):
            # Its name is the hash of its content: whatever else is there is broken.
            replace(writer, contract)
    except HoldfastError as error:
        emit(Warned(f"the contract was not written: {error.why} {error.how}"))


def read_contract(reader: Reader, digest: str) -> Contract | None:
    """Read a contract.

    Raises:
        ReadError, RecordError: It cannot be read.
    """
    return read_document(reader, contract_path(digest), Contract, limit=LARGEST_BYTES)


def contract_before(
    reader: Reader, *, epoch: int, generation: Generation | None = None
) -> Contract | None:
    """Return the contract of the last run before an epoch; None when there is none, or unknown.

    A broken run or contract is logged with its repair. No older run is taken in its place: a sink
    that the last run had, and that run had not, would look like a new one.

    Args:
        reader: Of the stream's record.
        epoch: A run of it or of a later one is ignored.
        generation: The current one; None: every run counts. What ran before a reset, or in a
            generation that was taken back, is not what a new query has to fit.

    Raises:
        ReadError: The store did not answer.
    """
    try:
        if generation is None:
            last = newest_run(reader, before=epoch)
        else:
            last = last_run_of(reader, generation, before=epoch)
        if last is not None and generation and last.generation < generation.begins_anew:
            return None
        found = read_contract(reader, last.contract) if last else None
    except RecordError as error:
        said = f"{error.what} {error.why} {error.how}"
        emit(Warned(f"the contract of the last run is unknown: {said}"))
        return None
    if last is not None and found is None:
        path = contract_path(last.contract)
        emit(Warned(f"the contract of the last run is unknown: {path} is missing"))
    return found
