"""Asks every source of a query what it can still give.

Where a source is comes from the options that were given, or from the contract of a guarded stream.
What cannot be asked is not probed, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.checkpoint.read import Checkpoint
from holdfast.errors import ConfigError
from holdfast.evidence.progress import find_needed, find_progress
from holdfast.sources.kind import Offset
from holdfast.sources.probe import Question, SourceLooks, SourceProbe, ask
from holdfast.storage.read import Reader


def probe_sources(
    checkpoint: Checkpoint, reader: Reader, looks: SourceLooks
) -> tuple[SourceProbe, ...]:
    """Ask every source of the newest offset entry.

    Args:
        checkpoint: As read.
        reader: Of the checkpoint.
        looks: Where the sources are.

    Raises:
        ConfigError: A source is named that the checkpoint does not have.
    """
    _check_given(looks, find_needed(checkpoint))
    return tuple(_probe_each(checkpoint, reader, looks))


def probe_needed(needed: Mapping[str, Offset], looks: SourceLooks) -> tuple[SourceProbe, ...]:
    """Ask every source from an offset on, where there is no checkpoint to say what else counts.

    Raises:
        ConfigError: A source is named that there is not.
    """
    _check_given(looks, needed)
    return tuple(
        ask(Question(source=source, needed=each, looks=looks)) for source, each in needed.items()
    )


def _check_given(looks: SourceLooks, there: Mapping[str, Offset]) -> None:
    for source in sorted(set(looks.given) - {"", *there} if there else ()):
        known = ", ".join(there)
        raise ConfigError(
            f"--source {source}=…: the checkpoint has no source {source}, but {known}."
        )


def _probe_each(
    checkpoint: Checkpoint, reader: Reader, looks: SourceLooks
) -> Iterator[SourceProbe]:
    logs = {log.name: log for log in checkpoint.sources}
    progress = find_progress(checkpoint)
    # A start lists again what the last committed batch has read of a table.
    committed = () if progress.pending else progress.sources
    listed = {each.source: each.start for each in committed}
    for source, needed in find_needed(checkpoint).items():
        yield ask(
            Question(
                source=source,
                needed=needed,
                looks=looks,
                listed=listed.get(source),
                log=logs.get(source),
                checkpoint=reader,
            )
        )
