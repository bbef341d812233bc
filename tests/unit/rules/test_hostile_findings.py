"""No string that a checkpoint or a log can have steers a terminal through a finding or a bundle."""

from __future__ import annotations

import io
import json
import time

import pytest

from holdfast.bundle.pack import pack
from holdfast.bundle.unpack import Bundle, read_bundle
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.evidence.spark_error import read_spark_error
from holdfast.redact import redact
from holdfast.rules import RULES, Finding
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.rule_cases import findings_in
from tests.hostile_strings import HOSTILE, breaks_terminal


def texts_of(finding: Finding) -> list[str]:
    return [finding.what, finding.how, finding.accepting, *finding.follows_from]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_finding_escapes_what_it_quotes(name: str) -> None:
    text = HOSTILE[name]
    found = RULES[0].find(what=text, how=text, accepting=text, follows_from=(text,))
    assert not any(map(breaks_terminal, texts_of(found)))


@pytest.mark.parametrize("name", HOSTILE)
def test_an_error_is_quoted_escaped(name: str) -> None:
    text = HOSTILE[name]
    for form in ("[TABLE_OR_VIEW_NOT_FOUND] {}", "batch 4 doesn't exist {}", "{} are gone"):
        report = read_spark_error(form.format(text))
        known = collect(MemoryStorage({"metadata": b"{}", f"offsets/{text}": b"v1"}))
        case = Case(checkpoint=known.checkpoint, overview=overview_of(known), error=report)
        for finding in findings_in(case):
            assert not any(map(breaks_terminal, texts_of(finding)))
            assert len(finding.what) < 2_000 or "error" not in finding.what


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bundle_with_it_is_sealed_and_read(name: str) -> None:
    text = HOSTILE[name]
    raw = text.encode("utf-8", "surrogatepass")
    files = {f"state/0/_metadata/{text}": raw, f"extra/{text}": raw, "offsets/0": raw, "a": b""}
    packed = pack(MemoryStorage(files), MemoryStorage({f"runs/{text}.json": raw}), {"facts": text})
    bundle = read_bundle(io.BytesIO(packed.data))
    assert isinstance(bundle, Bundle)
    named = [each.path for each in bundle.manifest.files] + list(bundle.members)
    assert not any(map(breaks_terminal, named))
    assert json.loads(bundle.members["facts"]) is not None


@pytest.mark.parametrize(
    "text",
    [
        "A" * 200_000,
        "token" * 40_000,
        "password='" * 20_000,
        "/a:bcdefghij" * 20_000,
        "://" * 60_000,
    ],
    ids=lambda text: text[:9],
)
def test_hostile_text_is_redacted_in_little_time(text: str) -> None:
    began = time.monotonic()
    redact(text)
    assert time.monotonic() - began < 20
