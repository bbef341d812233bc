"""What travels between the processes of one batch: from the planner to tasks, from them to commit.

Plain Python: executors import this, and have no other package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.datasource import WriterCommitMessage

from holdfast.ledger.row import Binding

if TYPE_CHECKING:
    from holdfast.sinks.parts import StagedPart, TaskStage


class Claim(NamedTuple):
    """The right of one start to write, as a batch needs it."""

    generation: int
    epoch: int
    token: str
    binding: Binding
    stage: TaskStage
    """What tasks stage their rows with; of the sink."""


@dataclass(kw_only=True)
class Answer(WriterCommitMessage):
    """What one task has done; Spark passes it on only when the whole task has succeeded."""

    claim: Claim
    query_id: str
    run_id: str
    batch: int
    part: StagedPart
    """How many rows, and where they are."""
