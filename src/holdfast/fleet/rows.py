"""The values of a fleet scan: one row per checkpoint, and findings that concern several of them.

A row is flat and small, whatever its checkpoint holds. It survives JSON, Parquet and a Spark task
unchanged: `to_record` and `parse_row` are each other's inverse. Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.judgement.judge import ATTENTION, Verdict

DAY_MS = 86_400_000
_LATEST_MS = 253_402_300_799_999
"""The last moment of the year 9999."""


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a scan says of one checkpoint."""

    location: str
    """The complete location."""
    path: str
    """The same from the scanned location on; the location itself if that is the checkpoint."""
    owner: str | None = None
    """The part of the path that the owner's pattern matched; None without a match."""
    stream: str | None = None
    """The name of a stream that Holdfast guards; None for others, and where it was not read."""
    verdict: Verdict
    """What the next restart does to the data. Not known if something decisive was not read."""
    so_far: Verdict | None = None
    """The verdict on everything but the state, where only unread state makes `verdict` not known;
    else None."""
    is_certain: bool = True
    """Whether the verdict follows from what was read, without an assumption."""
    codes: tuple[str, ...] = ()
    """The codes of all findings, the gravest first."""
    decided_by: str | None = None
    """The code of the finding that the verdict follows from; None if it follows from none."""
    sentence: str
    """What the next start does, or why that is not known: one sentence."""
    what_to_do: str = ""
    """The action for the worst of it."""
    query_id: str | None = None
    newest_batch: int | None = None
    """The newest batch with an offset entry."""
    committed_batch: int | None = None
    """The newest batch with a commit entry."""
    is_pending: bool | None = None
    """Whether the newest batch is planned and not committed; None if that is not known."""
    newest_ms: int | None = None
    """When the newest batch was planned, by the driver's clock."""
    written_ms: int | None = None
    """When the newest of the listed log entries was written, by the store's clock."""
    writes_per_hour: float | None = None
    """How many of the listed files a batch of the last hours wrote; None without two commits."""
    sources: tuple[str, ...] = ()
    """The sources of the newest batch: `kafka orders`."""
    sinks: tuple[str, ...] = ()
    """Where the query writes, as far as the checkpoint or Holdfast's record says; mostly empty."""
    operators: tuple[str, ...] = ()
    """The names of the stateful operators."""
    spark: str | None = None
    """The version of Spark that the prediction is for."""
    files: int = 0
    """The files that the listing showed."""
    size_bytes: int = 0
    """Their size."""
    is_all_listed: bool = True
    """Whether the listing showed every file; if not, `files` and `size_bytes` are lower bounds."""
    requests: int = 0
    """What this row cost, its discovery included: listings and reads. On disk, the same calls."""
    limit: int = 0
    """How many requests it was allowed."""
    not_read: tuple[str, ...] = ()
    """What is there and was not read, each with the reason."""
    unread: str | None = None
    """Why the checkpoint could not be judged at all; None if it was."""
    replaced_by: int | None = None
    """The generation that replaced this checkpoint: it is not started again."""
    fingerprint: str = ""
    """Changes when the listing changes; empty if it was not listed completely."""
    judged_by: str = ""
    """The version of Holdfast that judged it, and the version of Spark that was asked for."""
    judged_ms: int
    """When it was read and judged. Older than `seen_ms` if nothing has moved since."""
    seen_ms: int
    """When it was last listed."""

    @property
    def age_ms(self) -> int | None:
        """How long before the scan the newest batch was planned; None if nothing says."""
        return None if self.newest_ms is None else self.seen_ms - self.newest_ms

    @property
    def idle_ms(self) -> int | None:
        """How long before the scan the newest sign of life was; None if there is none."""
        signs = [each for each in (self.newest_ms, self.written_ms) if each is not None]
        return self.seen_ms - max(signs) if signs else None

    @property
    def is_current(self) -> bool:
        """Whether a start may use it: no later generation has replaced it."""
        return self.replaced_by is None

    @property
    def is_state_unread(self) -> bool:
        """Whether it is safe except for its state, which was not read."""
        return self.so_far is Verdict.SAFE

    @property
    def urgency(self) -> tuple[int, str]:
        """Sorts rows: what needs attention first, then by location."""
        if not self.is_current:
            return 2 * len(ATTENTION), self.location
        worst = self.so_far or self.verdict
        return 2 * ATTENTION.index(worst) - self.is_state_unread, self.location


class FleetFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that only several checkpoints together show."""

    name: str
    """Of the kind: `query-id-shared`, `one-sink-two-queries`, `no-sign-of-life` and so on."""
    code: str | None = None
    """The rule of `holdfast diagnose --among` that says the same; None if there is none."""
    sentence: str
    what_to_do: str
    locations: tuple[str, ...]
    """Of the checkpoints; the first ones, where `number` is larger."""
    number: int
    """How many checkpoints it concerns."""


class FleetTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What a scan adds up to."""

    checkpoints: int = 0
    """Without those that were replaced."""
    verdicts: dict[str, int] = {}
    """How many of each verdict; of `so_far` where that is worse than safe. Those that could not be
    read are among `not-known`."""
    state_unread: int = 0
    """How many of `not-known` are safe except for their state, which was not read."""
    unread: int = 0
    """How many could not be read at all."""
    replaced: int = 0
    unchanged: int = 0
    """How many were carried over from the earlier scan, because nothing had moved."""
    requests: int = 0
    directories: int = 0
    """How many directories were searched that are no checkpoints."""
    seconds: float = 0.0


_FIELDS = FleetRow.__struct_fields__


def to_record(row: FleetRow) -> dict[str, object]:
    """Return a row as plain values, in the order of its fields."""
    found: dict[str, object] = msgspec.to_builtins(row)
    return found


def parse_row(record: Mapping[str, object]) -> FleetRow | None:
    """Return the row that a record holds; None if it is none.

    Fields that this version does not know are ignored.
    """
    known = {name: record[name] for name in _FIELDS if record.get(name) is not None}
    try:
        row = msgspec.convert(known, FleetRow, strict=False)
    except msgspec.ValidationError:
        return None
    return row if _is_possible(row) else None


def _is_possible(row: FleetRow) -> bool:
    """Return whether a scan can have written a row: files of scans are edited, too."""
    times = (row.judged_ms, row.seen_ms, row.newest_ms or 0, row.written_ms or 0)
    is_open = row.so_far is None or row.verdict is Verdict.UNKNOWN
    return is_open and all(abs(each) <= _LATEST_MS for each in times)
