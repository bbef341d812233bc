"""How findings are graded, the same for every rule: of checkpoints, of sinks and of code."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib import resources


class Severity(StrEnum):
    """What a finding means for a restart."""

    BLOCKS_RESTART = "blocks-restart"
    """Spark does not start, or fails in or after its first batch."""
    DATA_AT_RISK = "data-at-risk"
    """A restart loses, duplicates or alters data."""
    RISK = "risk"
    """A restart works, and a guarantee is weaker than it seems."""
    NOTE = "note"
    """Worth knowing before a restart."""


class Effect(StrEnum):
    """What a restart does to the data, if the finding holds."""

    LOSES = "loses"
    """Rows that the source has given, or could give, never reach the sink."""
    REPEATS = "repeats"
    """Rows that the sink has are written again."""
    ALTERS = "alters"
    """Rows reach the sink with other values than they should have."""
    FAILS = "fails"
    """No row reaches the sink."""
    NONE = "none"


class Recognises(StrEnum):
    """Whether a sink recognises a batch that Spark writes again after a kill."""

    YES = "yes"
    """It skips or replaces the batch, by the batch's own number."""
    NO = "no"
    """It writes the rows a second time."""
    DEPENDS = "depends"
    """On what the code does not show, such as a unique key; the reason names it."""
    NOT_KEPT = "not-kept"
    """The output is only looked at: there is nothing to duplicate."""
    NOT_KNOWN = "not-known"
    """The code does not tell; the reason says why."""


class Confidence(StrEnum):
    """How sure a rule is that data would be lost or duplicated."""

    CERTAIN = "certain"
    """It follows from what was read."""
    LIKELY = "likely"
    """It follows if an assumption holds, which the finding names."""
    UNKNOWN = "unknown"
    """Nothing that can be read tells; the finding asks."""


class Goal(StrEnum):
    """What repairs a finding."""

    RESUME = "resume"
    """Go on with the same batch and the same range, from a checkpoint that is put right."""
    REPLAY = "replay"
    """Run a known range of batches again."""
    BACKFILL = "backfill"
    """Fill a gap with a bounded job beside the stream."""
    RESET = "reset"
    """Begin a new generation, from a named position and into a named output."""
    NONE = "none"
    """Nothing in checkpoint or sink needs a repair."""


def read_page(package: str, code: str) -> str:
    """Return what explains a rule of ours, in Markdown, without its title."""
    page = resources.files(package).joinpath("pages", f"{code}.md").read_text("utf-8")
    return page.partition("\n\n")[2].strip()


def page_in(module: str) -> str:
    """Return what explains a rule of another package: the text of its module."""
    text = sys.modules[module].__doc__ or ""
    return text.partition("\n\n")[2].strip()
