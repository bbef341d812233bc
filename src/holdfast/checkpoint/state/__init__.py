"""State of a query: its operators, their stores, the files of every version. Not the values."""

from __future__ import annotations

from holdfast.checkpoint.state.chain import BrokenChain, Chain, find_chain, loadable_versions
from holdfast.checkpoint.state.files import StateFile, StateFileKind
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.read import Operator, Store, read_state
from holdfast.checkpoint.state.rows import NotCounted, count_rows
from holdfast.checkpoint.state.schema import StateSchema

__all__ = [
    "BrokenChain",
    "Chain",
    "NotCounted",
    "Operator",
    "OperatorMetadata",
    "StateFile",
    "StateFileKind",
    "StateSchema",
    "Store",
    "count_rows",
    "find_chain",
    "loadable_versions",
    "read_state",
]
