"""The kinds of sinks there are: those of Holdfast, and those that other packages bring.

A kind is a subclass of `SinkSpec`; defining it registers it. This module imports the modules that
define them: the subpackages of `holdfast.sinks`, what packages name as entry points in the group
`holdfast.sinks`, and the modules that the environment variable `HOLDFAST_SINKS` names, separated by
commas.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from holdfast import sinks
from holdfast.record.contracts import SinkContract
from holdfast.sinks import foreach_batch
from holdfast.sinks.merging import check_output_mode
from holdfast.sinks.sink import KINDS, SinkSpec

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from holdfast.ledger.store import LedgerStore
    from holdfast.sinks.held import Held
    from holdfast.sinks.sink import SinkWriter

GROUP = "holdfast.sinks"
MODULES = "HOLDFAST_SINKS"


def find_kinds() -> Mapping[str, type[SinkSpec]]:
    """Return every kind of sink by its name.

    Raises:
        ImportError: A module that `HOLDFAST_SINKS` names cannot be imported.
    """
    assert foreach_batch.ForeachBatch.kind in KINDS
    for found in pkgutil.iter_modules(sinks.__path__):
        if found.ispkg:
            importlib.import_module(f"{sinks.__name__}.{found.name}.sink")
    for entry in entry_points(group=GROUP):
        entry.load()
    for module in os.environ.get(MODULES, "").replace(",", " ").split():
        importlib.import_module(module)
    return dict(sorted(KINDS.items()))


def resolve_writer(sink: SinkSpec, df: Any, *, stream: str, output_mode: str) -> SinkWriter:
    """Return the writer of one start, once the sink takes the rows of a streaming DataFrame.

    Nothing is created or changed. What is returned shares nothing with another start.

    Raises:
        HoldfastError: The sink does not take the rows, or cannot be reached.
    """
    if sink.is_appending:
        check_output_mode(output_mode, sink.shown)
    writer: SinkWriter = importlib.import_module(sink.module).resolve_writer(sink, df, stream)
    return writer


def describe_sink(sink: SinkSpec, writer: SinkWriter) -> SinkContract:
    """Return what a contract keeps of a sink: enough to open its ledger again, nothing secret."""
    return SinkContract(
        kind=sink.kind,
        place=writer.recorded_place,
        label=writer.name,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        secret=sink.secret,
    )


def sink_of(contract: SinkContract) -> SinkSpec | None:
    """Return the sink that a contract tells of.

    None when its kind is unknown here, or when the contract does not suffice to open it.
    """
    # One that is loaded is not looked for: asking every installed package takes 20 ms.
    kind = KINDS.get(contract.kind) or find_kinds().get(contract.kind)
    return None if kind is None else kind.from_contract(contract)


def open_ledger(
    sink: SinkSpec, spark: Any = None, *, options: Mapping[str, str] | None = None
) -> LedgerStore | None:
    """Open the ledger of a sink without a streaming query; None when the sink has none.

    Args:
        sink: As the user wrote it.
        spark: A session, where reading or writing the ledger needs one.
        options: Of the store, as `--storage-option` gives them; without a session.

    Raises:
        HoldfastError: It cannot be opened.
    """
    opening = importlib.import_module(sink.module).open_ledger
    ledger: LedgerStore | None = opening(sink, spark, options=options)
    return ledger


def open_held(sink: SinkSpec, df: Any, *, stream: str) -> AbstractContextManager[Held] | None:
    """Open what a sink holds of a stream; None when its rows cannot be read back.

    Args:
        sink: As the user wrote it.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        HoldfastError: On entering, when the sink cannot be read.
    """
    opened = getattr(importlib.import_module(sink.module), "open_held", None)
    found: AbstractContextManager[Held] | None = opened and opened(sink, df, stream)
    return found
