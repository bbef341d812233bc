"""What Spark's own sinks left of the batches that they have, judged before a start (G3)."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.outputs.output import NotRead, Output
from holdfast.evidence.overview import overview_of
from holdfast.grades import Confidence
from holdfast.judgement.judge import judge
from holdfast.judgement.outputs import look_into
from holdfast.rules import own_catalogue
from holdfast.rules.output.delta_resets import reset_repeats
from holdfast.rules.rule import Finding
from holdfast.sinks.sink import SinkWriter
from holdfast.streams.place import Place

_OF_OUTPUTS = "HF7"
"""With which the codes of the rules about sinks without a ledger begin."""


class OutputMissingError(HoldfastError):
    """A sink that batches were written to is not there any more."""

    code = "OUTPUT_MISSING"

    def __init__(self, stream: str, display_name: str, batch: int) -> None:
        super().__init__(
            what=f"{stream} was not started; nothing was written.",
            why=f"The checkpoint has committed batch {batch}, and {display_name} is not there.",
            how="Put it back, or start the stream under another name, from the beginning.",
        )


def find_in_outputs(place: Place, sinks: tuple[SinkWriter, ...], case: Case) -> tuple[Finding, ...]:
    """Return what the rules find in sinks without a ledger that leave something to look at.

    Args:
        place: Of the stream.
        sinks: Of the start.
        case: What is known without them.

    Raises:
        OutputMissingError: One is gone.
    """
    outputs = [found for sink in sinks if (found := _look(place, sink, case)) is not None]
    if not outputs:
        return ()
    assert case.query is not None  # only a start of a data source has none, and it has a ledger
    spark = case.query.spark
    overview = overview_of(collect(place.checkpoint), spark=spark, is_one_version=True)
    whole = Case(
        checkpoint=overview.checkpoint,
        overview=overview,
        stream=case.stream,
        root=case.root,
        outputs=tuple(outputs),
    )
    findings = judge(whole, own_catalogue(whole)).findings
    return tuple(_known(each, case) for each in findings if each.code.startswith(_OF_OUTPUTS))


def _known(finding: Finding, case: Case) -> Finding:
    """Return a finding with what the record tells besides: that an earlier run was this stream's.

    Of a bare checkpoint it is not known whether the query that filled a table was the same.
    """
    has_run = case.query is not None and case.query.before is not None
    is_meant = case.stream is not None and case.stream.is_seeded
    if finding.code != reset_repeats.code or not has_run or is_meant:
        return finding
    accepting = "the rows that the source still has are written once more"
    return replace(finding, confidence=Confidence.CERTAIN, accepting=accepting)


def _look(place: Place, sink: SinkWriter, case: Case) -> Output | None:
    """Return what a sink holds; None when there is nothing to look at, which is said."""
    reader = sink.output
    if reader is None:
        return None
    there = reader.list()
    if not there.files and not there.directories:
        if case.newest_committed >= 0:
            raise OutputMissingError(place.stream, sink.display_name, case.newest_committed)
        return None
    found = look_into(reader, sink.place)
    if isinstance(found, NotRead):
        what = "what it holds of this stream is not known"
        emit(Warned(f"{sink.display_name}: {what}: {found.why}"))
        return None
    return found
