"""What may rightly differ is not called a fault, and what may not is."""

from __future__ import annotations

import pytest

from holdfast.proof.values import Comparison, Fault, ProofVerdict, TableProof
from holdfast.streams.covered import Doubt
from holdfast.streams.proving import _doubted

ADDED = Doubt("added later", {Fault.LOST})
VARIES = Doubt("random")


def proof(faults: dict[str, int]) -> TableProof:
    lost, duplicated, altered, unexpected = (faults.get(each.value, 0) for each in Fault)
    compared = Comparison(
        expected=9,
        found=9,
        lost=lost,
        duplicated=duplicated,
        altered=altered,
        unexpected=unexpected,
    )
    return TableProof(stream="s", table="t", compared=compared)


@pytest.mark.parametrize(
    ("faults", "doubts", "verdict"),
    [
        ({}, (ADDED, VARIES), ProofVerdict.EXACT),
        ({"lost": 1}, (), ProofVerdict.NOT_EXACT),
        ({"lost": 1}, (ADDED,), ProofVerdict.NOT_COMPARED),
        ({"lost": 1, "duplicated": 1}, (ADDED,), ProofVerdict.NOT_EXACT),
        ({"altered": 1}, (ADDED,), ProofVerdict.NOT_EXACT),
        ({"altered": 1, "unexpected": 1}, (ADDED, VARIES), ProofVerdict.NOT_COMPARED),
    ],
)
def test_only_what_a_doubt_explains(
    faults: dict[str, int], doubts: tuple[Doubt, ...], *, verdict: ProofVerdict
) -> None:
    found = _doubted(proof(faults), doubts)
    assert found.verdict is verdict
    assert found.compared == proof(faults).compared
    assert bool(found.reason) == (verdict is ProofVerdict.NOT_COMPARED)
