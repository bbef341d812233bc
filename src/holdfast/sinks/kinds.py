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
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from holdfast import sinks
from holdfast.errors import ConfigError
from holdfast.record.contracts import SinkContract
from holdfast.sinks import foreach_batch
from holdfast.sinks.sink import KINDS, SinkSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.store import LedgerStore

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


def kind_of(contract: SinkContract) -> type[SinkSpec] | None:
    """Return the kind of the sink that a contract tells of; None when it is unknown here."""
    # One that is loaded is not looked for: asking every installed package takes 20 ms.
    return KINDS.get(contract.kind) or find_kinds().get(contract.kind)


def sink_of(contract: SinkContract) -> SinkSpec | None:
    """Return the sink that a contract tells of.

    None when its kind is unknown here, or when the contract does not suffice to open it.
    """
    kind = kind_of(contract)
    return None if kind is None else kind.from_contract(contract)


def open_recorded(
    contract: SinkContract,
    session: Callable[[], SparkSession] | None = None,
    *,
    options: Mapping[str, str],
) -> tuple[SinkSpec, LedgerStore]:
    """Open the ledger of a sink without its program, from the contract of the last run.

    Args:
        contract: What the run kept of the sink.
        session: Gives a Spark session; called for a kind that changes with Spark only.
        options: Of the store.

    Raises:
        ConfigError: The contract does not suffice, or the sink has no ledger.
        HoldfastError: It cannot be opened.
    """
    sink = sink_of(contract)
    needs_spark = session is not None and sink is not None and sink.settles_with_spark
    spark = session() if session is not None and needs_spark else None
    ledger = None if sink is None else sink.open_ledger(spark, options=options)
    if sink is None or ledger is None:
        raise ConfigError(
            f"The {contract.kind} sink {contract.label} cannot be opened from here: the contract "
            "of the last run does not suffice."
        )
    return sink, ledger
