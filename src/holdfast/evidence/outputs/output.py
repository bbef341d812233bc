"""One output of a query, looked at without a ledger: what it holds, or why that is not known."""

from __future__ import annotations

import msgspec

from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.iceberg import IcebergOutput


class NotRead(msgspec.Struct, frozen=True, kw_only=True):
    """An output that could not be looked at."""

    display_name: str
    why: str


Output = DeltaOutput | FileOutput | IcebergOutput | NotRead
