"""A reader beside a writer of Delta tables: in no snapshot it takes is there a part of a batch."""

from __future__ import annotations

from benchmarks.delta_workload import Workload
from benchmarks.reader import Reader
from holdfast.errors import HoldfastError

PERIOD_S = 0.2


class DeltaReader(Reader):
    """Polls the tables, log and files, without Spark."""

    def __init__(self, work: Workload) -> None:
        """Watch a workload."""
        super().__init__(period_s=PERIOD_S)
        self._work = work
        self._tables = [work.open(table) for table in work.tables]

    def _look(self) -> None:
        for table in self._tables:
            try:
                snapshot = table.read()
            except (HoldfastError, AssertionError) as error:
                self.torn.append(str(error))
                continue
            torn = self._work.torn(snapshot)
            self.torn += [] if torn is None else [torn]
            self.seen.add(self._work.files_told(snapshot))
