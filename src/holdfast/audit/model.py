"""What an audit finds: queries, jobs, checkpoints, and what was not understood. Only values."""

from __future__ import annotations

import msgspec

from holdfast.grades import Confidence, Effect, Recognises, Severity
from holdfast.lint.query_in_code import Written


class AppliedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of lint that applies to a query."""

    code: str
    name: str
    severity: Severity
    message: str
    place: str


class AuditedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One streaming query, and what a restart after a kill does to it."""

    file: str
    cell: int | None
    line: int
    """Where it is started; of a query that a helper starts, the call of the helper."""
    written_line: int
    """Where its `writeStream`, its decorator or its `hf.start` is."""
    name: str | None
    is_guarded: bool
    """Whether Holdfast starts it."""
    source: Written
    sink: Written
    output_mode: Written
    trigger: Written
    checkpoint: Written
    recognises: Recognises
    why: str
    why_place: str
    effects: tuple[Effect, ...]
    """What a restart after a kill does to the data; empty if it is not known."""
    confidence: Confidence
    after_kill: str
    rules: tuple[AppliedRule, ...] = ()
    changes: tuple[str, ...] = ()
    """What makes it safe."""
    jobs: tuple[str, ...] = ()
    """Where jobs are defined that run its program."""
    checkpoints: tuple[str, ...] = ()
    """Checkpoints that exist and that its location names, or may name."""

    @property
    def place(self) -> str:
        """`jobs/orders.py:41`."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}"

    @property
    def is_safe(self) -> bool:
        """Whether a restart after a kill is known to lose and duplicate nothing."""
        return self.effects == (Effect.NONE,)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job definition that names a program."""

    place: str
    kind: str
    """`databricks`, `spark-submit`, `airflow` or `kubernetes`."""
    program: str
    """As it is written there."""
    parameters: tuple[str, ...] = ()
    file: str | None = None
    """The audited file that it runs; None if that is not among them."""


class NotUnderstood(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may hold a query and was not judged."""

    place: str
    why: str


class FoundCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that exists, with the queries whose location names it, or may name it."""

    location: str
    queries: tuple[str, ...]
    unread: str | None = None


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The answer."""

    files: int
    queries: tuple[AuditedQuery, ...]
    jobs: tuple[Job, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    checkpoints: tuple[FoundCheckpoint, ...] | None = None
    """None if no root of checkpoints was given."""

    def having(self, effect: Effect) -> tuple[AuditedQuery, ...]:
        """Return the queries to which a restart after a kill does this."""
        return tuple(each for each in self.queries if effect in each.effects)

    @property
    def not_known(self) -> tuple[AuditedQuery, ...]:
        """The queries of which it is not known what a restart does."""
        return tuple(each for each in self.queries if not each.effects)
