"""What only several checkpoints together show: copies, shared sinks, and streams that went silent.

Everything follows from the rows of one scan. A finding says what the rows show, and names the
command that looks closer. Nothing is ever deleted here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sized
from heapq import nlargest
from typing import TYPE_CHECKING

from holdfast.fleet.rows import DAY_MS, FleetFinding, FleetRow
from holdfast.rules.place_names import changing_part
from holdfast.wording import count, size

if TYPE_CHECKING:
    from holdfast.rules.rule import Rule

IDLE_DAYS = 7
"""After so long without a sign of life a checkpoint is named."""
BUSIEST = 20
SHOWN = 5
"""Locations that a finding names."""
_LEAST_DATED = 3
_TEMPORARY = re.compile(r"(^|/)(tmp|temp|temporary|local_disk0|shm|scratch)(/|$)", re.IGNORECASE)
_NO_LAG = ("unknown source", "files of Auto Loader")
"""Sources whose newest position Holdfast cannot ask for."""
_PUT_USD = 5e-6
_HOURS = 730


class AcrossCheckpoints:
    """Collects what the findings need; a few words for each row."""

    def __init__(self, *, idle_days: int = IDLE_DAYS) -> None:
        """Begin with nothing.

        Args:
            idle_days: After how many days without a sign of life a checkpoint is named.
        """
        self._idle_ms = idle_days * DAY_MS
        self._idle_days = idle_days
        self._by_query: dict[str, dict[str, tuple[int | None, int | None]]] = defaultdict(dict)
        self._by_sink: dict[str, list[str]] = defaultdict(list)
        self._dated: dict[str, list[str]] = defaultdict(list)
        self._temporary: list[str] = []
        self._locations: set[str] = set()
        self._without_lag: list[str] = []
        self._idle: list[tuple[int, str, int]] = []
        self._busy: list[tuple[float, str]] = []

    def add(self, row: FleetRow) -> None:
        """Take one row; what was replaced does not count."""
        if not row.is_current:
            return
        place = row.location
        self._locations.add(place)
        if row.query_id:
            self._by_query[row.query_id][place] = row.newest_batch, row.newest_ms
        for sink in row.sinks:
            self._by_sink[sink].append(place)
        self._add_place(row)
        self._add_progress(row)

    def _add_place(self, row: FleetRow) -> None:
        place = row.location
        if changing_part(place) is not None:
            self._dated[place.rpartition("/")[0]].append(place)
        if _TEMPORARY.search(row.path) or changing_part(place) == "a random id":
            self._temporary.append(place)

    def _add_progress(self, row: FleetRow) -> None:
        place = row.location
        if any(each.startswith(_NO_LAG) for each in row.sources):
            self._without_lag.append(place)
        if row.idle_ms is not None and row.idle_ms > self._idle_ms:
            self._idle.append((row.idle_ms, place, row.size_bytes))
        if row.writes_per_hour:
            self._busy = nlargest(BUSIEST, [*self._busy, (row.writes_per_hour, place)])

    def findings(self) -> tuple[FleetFinding, ...]:
        """Return the findings, the gravest first."""
        kinds: tuple[Callable[[], Iterable[FleetFinding]], ...] = (
            self._shared_queries,
            self._shared_sinks,
            self._nested,
            self._one_per_run,
            self._in_temporary_places,
            self._without_life,
            self._without_lag_data,
            self._busiest,
        )
        return tuple(each for kind in kinds for each in kind())

    def _shared_queries(self) -> Iterator[FleetFinding]:
        for query, found in sorted(self._by_query.items()):
            if len(found) < 2:
                continue
            is_copy = len(set(found.values())) == 1
            known = sorted({batch for batch, _ in found.values() if batch is not None})
            batches = ", ".join(map(str, known)) or "not known"
            what = "are copies that end with the same batch" if is_copy else "have one query id"
            yield _finding(
                "copied-checkpoint" if is_copy else "query-id-shared",
                sorted(found),
                code=_code_of("query_id_shared"),
                sentence=f"{_checkpoints(found)} {what}: {query}, newest batch {batches}. If they "
                "write one sink, it skips the batches of the one that comes second.",
                what_to_do="Start only one of them. Give the other a new query id and its own "
                "sink: `holdfast plan clone`.",
            )

    def _shared_sinks(self) -> Iterator[FleetFinding]:
        for sink, found in sorted(self._by_sink.items()):
            places = sorted(set(found))
            if len(places) > 1:
                yield _finding(
                    "one-sink-two-queries",
                    places,
                    sentence=f"{_checkpoints(places)} name the sink {sink}.",
                    what_to_do="Check that it is meant: a reset of one query that truncates the "
                    "sink removes the rows of the others.",
                )

    def _nested(self) -> Iterator[FleetFinding]:
        inside = sorted(place for place in self._locations if self._is_inside_another(place))
        if inside:
            yield _finding(
                "shared-location",
                inside,
                sentence=f"{_checkpoints(inside)} inside the directory of another one. "
                "If the outer one is deleted or moved, the inner one goes with it.",
                what_to_do="Give each query its own directory: `holdfast plan move`.",
            )

    def _is_inside_another(self, place: str) -> bool:
        above = place.rpartition("/")[0]
        while above:
            if above in self._locations:
                return True
            above = above.rpartition("/")[0]
        return False

    def _one_per_run(self) -> Iterator[FleetFinding]:
        for above, places in sorted(self._dated.items()):
            if len(places) >= _LEAST_DATED:
                yield _finding(
                    "dated-locations",
                    sorted(places),
                    code=_code_of("one_checkpoint_per_run"),
                    sentence=f"{_checkpoints(places)} below {above} have names that "
                    "change from run to run. A run with a new name begins with batch 0.",
                    what_to_do="Give the query one fixed checkpointLocation, and continue the "
                    "newest one.",
                )

    def _in_temporary_places(self) -> Iterator[FleetFinding]:
        if self._temporary:
            yield _finding(
                "temporary-locations",
                sorted(self._temporary),
                sentence=f"{_checkpoints(self._temporary)} in a temporary place. When it is "
                "cleaned up, the query starts again from the source's starting position.",
                what_to_do="Move each to a fixed path while its query is stopped: "
                "`holdfast plan move`.",
            )

    def _without_life(self) -> Iterator[FleetFinding]:
        if self._idle:
            total = sum(each for _, _, each in self._idle)
            yield _finding(
                "no-sign-of-life",
                [place for _, place, _ in sorted(self._idle, reverse=True)],
                code=_code_of("query_stopped"),
                sentence=f"{_checkpoints(self._idle)} without a new batch for more than "
                f"{self._idle_days} days; the scan saw {size(total)} of files in them.",
                what_to_do="Find out which query each belongs to before you retire it: without its "
                "checkpoint a query begins again and repeats or loses data.",
            )

    def _without_lag_data(self) -> Iterator[FleetFinding]:
        if self._without_lag:
            yield _finding(
                "no-lag-data",
                sorted(self._without_lag),
                sentence=f"{_checkpoints(self._without_lag)} with a source whose newest position "
                "Holdfast cannot ask for. How far such a query is behind is not known.",
                what_to_do="Watch the progress of the query: `holdfast inspect LOCATION "
                "--event-log LOG` reads it from Spark's event log.",
            )

    def _busiest(self) -> Iterator[FleetFinding]:
        if self._busy:
            writes, _ = self._busy[0]
            yield _finding(
                "busiest",
                [place for _, place in self._busy],
                sentence=f"The busiest writes about {writes:,.0f} files per hour: at least "
                f"${writes * _HOURS * _PUT_USD:,.2f} a month for PUT requests in S3.",
                what_to_do="`holdfast inspect LOCATION --cost` says what a longer trigger interval "
                "saves.",
                shown=BUSIEST,
            )


def _code_of(rule: str) -> str:
    """Return the code of a rule that compares a checkpoint with its neighbours."""
    from holdfast.rules.neighbours import copies  # noqa: PLC0415 - no rule before it is needed

    found: Rule = getattr(copies, rule)
    return found.code


def _checkpoints(found: Sized) -> str:
    return count(len(found), "checkpoint")


def _finding(  # noqa: PLR0913 - what a finding says, each by name
    name: str,
    places: list[str],
    *,
    sentence: str,
    what_to_do: str,
    code: str | None = None,
    shown: int = SHOWN,
) -> FleetFinding:
    return FleetFinding(
        name=name,
        code=code,
        sentence=sentence,
        what_to_do=what_to_do,
        locations=tuple(places[:shown]),
        number=len(places),
    )
