"""Keys and values of state, compared with Spark's own state reader on each version of Spark.

The test is that of the gate, run whole in the Python of the version: its Spark reads every fixture
that it has written, version by version of the state, and Holdfast reads the same files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from holdfast.cli.table import columns
from lab.predictions import report_of

TEST = "tests/spark/test_state_rows.py"
FIRST = "4.0"
"""Spark before it has no reader of state."""
COUNTED = ("HDFS-backed", "RocksDB", "reads", "rows")
"""What a test counts: fixtures by their provider, versions of a store that were read, and rows."""
NOT_DECODED = "not decoded"
_HEADS = ("Spark", "fixtures", "equal", *COUNTED, "differ", NOT_DECODED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAgreement:
    """How much of the state of one version's fixtures is what its Spark reads."""

    version: str
    equal: int
    """Fixtures whose every row is the same, in every version of every store."""
    counts: Counter[str]
    differ: tuple[str, ...]
    not_decoded: tuple[tuple[str, str], ...]
    """Fixtures that Spark reads and Holdfast only counts, each with what it says."""

    @property
    def is_complete(self) -> bool:
        """Whether something was compared, and nothing differs."""
        return bool(self.counts["rows"]) and not self.differ


def compare_state(version: str) -> StateAgreement:
    """Read the state of every fixture of one version with its Spark and with Holdfast.

    Raises:
        InstallFailedError: The environment of the version could not be made.
        CalledProcessError: The tests could not be run to their end.
    """
    return read_report(version, report_of(version, [TEST]))


def read_report(version: str, found: bytes) -> StateAgreement:
    """Return what pytest's report in JUnit's XML says."""
    equal, differ, not_decoded = 0, [], []
    counts: Counter[str] = Counter()
    for case in ET.fromstring(found).iter("testcase"):  # noqa: S314 - pytest wrote it
        name = str(case.get("name")).partition("[")[2].rstrip("]")
        said = {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
        if any(case.find(bad) is not None for bad in ("failure", "error", "skipped")):
            differ.append(name)
        elif NOT_DECODED in said:
            not_decoded.append((name, said[NOT_DECODED]))
        else:
            equal += 1
            counts.update({key: int(said[key]) for key in COUNTED if key in said})
    return StateAgreement(
        version=version,
        equal=equal,
        counts=counts,
        differ=tuple(differ),
        not_decoded=tuple(not_decoded),
    )


def report(found: Sequence[StateAgreement]) -> list[str]:
    """Return the lines of a table, and below it every fixture that differs or is not decoded."""
    rows: list[tuple[str, ...]] = [_HEADS]
    notes = []
    for each in found:
        bad = (len(each.differ), len(each.not_decoded))
        counts = (each.equal + sum(bad), each.equal, *(each.counts[key] for key in COUNTED), *bad)
        rows.append((each.version, *(f"{count:,}" for count in counts)))
        notes += [f"{each.version} differs: {name}" for name in each.differ]
        notes += [f"{each.version} not decoded: {name}: {why}" for name, why in each.not_decoded]
    return [*columns(rows), *notes]
