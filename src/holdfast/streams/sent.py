"""What is sent to the process that writes the batches: names and values, and no secret.

A sink is sent as its contract, which has the name of its secret and never its value; what lives,
connections and threads, is made there.
"""

from __future__ import annotations

import msgspec

from holdfast.ledger.row import Binding
from holdfast.record.contracts import SinkContract
from holdfast.record.leases import Lease


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One started stream, as the process of its batches gets it."""

    version: str
    """Of Holdfast, at the start."""
    stream: str
    generation: int
    binding: Binding
    record: str
    """Where it is."""
    checkpoint: str
    sinks: tuple[SinkContract, ...]
    output_mode: str
    lease: Lease
    first_batch: int
