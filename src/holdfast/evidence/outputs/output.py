"""One output of a query, looked at without a ledger: what it holds, or why that is not known."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.iceberg import IcebergOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRead:
    """An output that could not be looked at."""

    display_name: str
    why: str


Output = DeltaOutput | FileOutput | IcebergOutput | NotRead
