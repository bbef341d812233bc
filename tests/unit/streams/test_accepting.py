"""Starting past a refusal: what has to be accepted, and what the ledger row then says."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.judgement.judge import judge as judge_case
from holdfast.record.acceptances import read_accept
from holdfast.rules import Catalogue, Finding, Rule, find_rules, own_catalogue
from holdfast.storage.memory import MemoryStorage
from holdfast.streams.accepting import (
    Accepted,
    accept_findings,
    accepted_by_operator,
    row_for,
    say_findings,
)
from holdfast.streams.refusal import StartRefusedError
from holdfast.testing.rule_cases import RowCase, RuleCase, SinkCase, make_evidence

TWO_TABLES = (SinkCase(name="first"), SinkCase(name="second"))
ADOPTED = make_evidence(
    RuleCase(name="pending", planned=4, committed=3, adopted_at=4, sinks=TWO_TABLES, finds=())
)
ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n5'


def judge(evidence: StreamEvidence) -> tuple[Finding, ...]:
    case = Case(checkpoint=evidence.checkpoint, stream=evidence)
    return judge_case(case, own_catalogue(case)).findings


def checkpoint(newest: int) -> MemoryStorage:
    return MemoryStorage({f"offsets/{batch}": ENTRY for batch in range(newest + 1)})


def refused(record: MemoryStorage, evidence: StreamEvidence, *codes: str) -> StartRefusedError:
    """Give the codes with their nonces, and return the refusal."""
    with pytest.raises(StartRefusedError) as first:
        accept(record, evidence)
    given = {code: (first.value.nonces[code],) for code in codes}
    with pytest.raises(StartRefusedError) as found:
        accept_findings(record, evidence, judge(evidence), given=given, epoch=1)
    return found.value


def accept(record: MemoryStorage, evidence: StreamEvidence, *codes: str) -> Accepted:
    """Give the codes with their nonces, and return what is accepted."""
    findings, given = judge(evidence), {}
    if codes:
        with pytest.raises(StartRefusedError) as found:
            accept_findings(record, evidence, findings, given={}, epoch=1)
        given = {code: (found.value.nonces[code],) for code in codes}
    return accept_findings(record, evidence, findings, given=given, epoch=1)


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param(("HF610",), id="a question is open"),
        pytest.param(("HF611",), id="a finding is not accepted"),
        pytest.param(("HF610", "HF611", "HF612"), id="a question has two answers"),
    ],
)
def test_what_is_not_settled_is_refused_and_nothing_is_used_up(codes: tuple[str, ...]) -> None:
    record = MemoryStorage()
    error = refused(record, ADOPTED, *codes)
    assert [finding.code for finding in error.findings] == [
        *("HF610", "HF610", "HF611", "HF611", "HF612", "HF612")
    ]
    assert not record.list("accepted").files


@pytest.mark.parametrize(("answer", "last_batch"), [("HF611", 3), ("HF612", 4)])
def test_one_answer_settles_the_question_for_every_sink(answer: str, last_batch: int) -> None:
    record = MemoryStorage()
    accepted = accept(record, ADOPTED, "HF610", answer)
    rows = [row_for(ADOPTED, sink, checkpoint(4), accepted=accepted) for sink in ADOPTED.sinks]
    assert [row.last_batch for row in rows] == [last_batch, last_batch]
    assert [info.path for info in record.list("accepted").files] == [
        "accepted/0001-HF610.json",
        f"accepted/0001-{answer}.json",
    ]


def test_a_nonce_is_used_up() -> None:
    record = MemoryStorage()
    accept(record, ADOPTED, "HF610", "HF611")
    with pytest.raises(StartRefusedError) as found:
        accept(record, ADOPTED)
    assert set(found.value.nonces) == {"HF610", "HF611", "HF612"}
    assert accept(record, ADOPTED, "HF610", "HF612").codes("first") == {"HF610", "HF612"}


def test_of_several_accepted_findings_the_one_that_says_most_counts() -> None:
    """The table was truncated while its pending batch was edited: HF605 knows more than HF608."""
    sinks = (SinkCase(row=RowCase(last_batch=4, digest="other"), contradicts="it is empty"),)
    found = make_evidence(RuleCase(name="both", planned=4, committed=3, sinks=sinks, finds=()))
    accepted = accept(MemoryStorage(), found, "HF605", "HF608")
    assert row_for(found, found.sinks[0], checkpoint(4), accepted=accepted).last_batch == 4


@pytest.mark.parametrize(
    ("sink", "last_batch"),
    [
        pytest.param(SinkCase(is_added=True), 3, id="added: where the others stand"),
        pytest.param(SinkCase(native_batch=4), 4, id="adopted: as the sink says itself"),
    ],
)
def test_without_an_acceptance_a_new_row_says_what_is_known(
    sink: SinkCase, last_batch: int
) -> None:
    found = make_evidence(RuleCase(name="new", planned=4, committed=3, sinks=(sink,), finds=()))
    row = row_for(found, found.sinks[0], checkpoint(4), accepted=Accepted())
    assert (row.last_batch, row.stream, row.sink) == (last_batch, "readings", "public.readings")
    assert row.digest is not None


def test_before_the_first_batch_a_row_holds_nothing() -> None:
    found = make_evidence(RuleCase(name="new", finds=()))
    row = row_for(found, found.sinks[0], checkpoint(-1), accepted=Accepted())
    assert (row.last_batch, row.digest, row.end_offsets) == (-1, None, "{}")


def test_a_row_cannot_be_made_from_an_entry_that_is_gone() -> None:
    found = make_evidence(RuleCase(name="gone", planned=4, committed=4, finds=()))
    with pytest.raises(ConfigError, match="offsets/4: it is not there"):
        row_for(found, found.sinks[0], checkpoint(2), accepted=Accepted())


FINDING = Finding(
    code="HF999",
    name="made-up",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.NONE,
    what="Something was found.",
    how="Look at it.",
    accepting="nothing changes",
    follows_from=("offsets/4",),
    sink="first",
)


@pytest.mark.parametrize(
    ("severity", "level"), [("risk", "WARNING"), ("note", "INFO"), ("data-at-risk", "WARNING")]
)
def test_a_finding_that_does_not_refuse_is_logged_and_needs_no_acceptance(
    caplog: pytest.LogCaptureFixture, severity: str, level: str
) -> None:
    findings = (replace(FINDING, severity=Severity(severity)),)
    with caplog.at_level(logging.INFO, logger="holdfast"):
        say_findings("readings", findings)
    assert caplog.record_tuples == [
        (
            "holdfast",
            logging.getLevelName(level),
            "holdfast: readings: HF999 made-up: Something was found. Look at it.",
        )
    ]
    assert accept_findings(MemoryStorage(), ADOPTED, findings, given={}, epoch=1) == Accepted()


def test_a_finding_that_refuses_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="holdfast"):
        say_findings("readings", judge(ADOPTED))
    assert not caplog.records


def test_a_refusal_says_what_to_do_and_how_to_start_anyway() -> None:
    record = MemoryStorage()
    error = refused(record, ADOPTED)
    assert str(error).splitlines()[:2] == [
        "HF610 adopted-writer-not-fenced (1 of 6 findings)",
        "  readings was not started; nothing was written.",
    ]
    last = f'accept="HF612:{error.nonces["HF612"]}"'
    assert f"  To start anyway, this time only: {last} (batch 4 is skipped" in str(error)
    for code in ("HF611", "HF612"):  # opposite answers: a command for each
        answers = " ".join(f"{each}:{error.nonces[each]}" for each in ("HF610", code))
        assert f"    holdfast accept readings {answers} --root memory://memory" in str(error)
    assert "hold batch 4? Look for its rows first" in str(error)


def test_every_finding_has_a_block_with_its_title_and_its_nonce() -> None:
    error = refused(MemoryStorage(), ADOPTED)
    first, *others, command = str(error).split("\n\n")
    titles = [block.splitlines()[0].split()[0] for block in (first, *others)]
    assert titles == [finding.code for finding in error.findings]
    for block, code in zip((first, *others), titles, strict=True):
        assert f'accept="{code}:{error.nonces[code]}"' in block.splitlines()[-1]
    assert command.startswith("  Does first hold batch 4?")


def test_a_refusal_without_a_question_has_one_command() -> None:
    plain = replace_findings(refused(MemoryStorage(), ADOPTED))
    *_, last = str(plain).split("\n\n")
    assert last.startswith("  To accept without editing code, set HOLDFAST_ACCEPT for one start")
    assert last.count("holdfast accept readings HF610:") == 1


def replace_findings(error: StartRefusedError) -> StartRefusedError:
    """Return a refusal by the findings alone that answer no question."""
    findings = tuple(each for each in error.findings if each.question is None)
    return StartRefusedError("readings", findings, error.nonces, root="/srv/streams")


def test_a_nonce_of_another_refusal_is_named() -> None:
    given = {"HF610": ("0000",)}
    with pytest.raises(StartRefusedError) as found:
        accept_findings(MemoryStorage(), ADOPTED, judge(ADOPTED), given=given, epoch=1)
    assert "HF610:0000 does not accept this: it is for another refusal" in str(found.value)


def test_the_environment_accepts_what_the_code_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_ACCEPT", "HF610:1111 HF611:2222")
    expected = {"HF610": ("3333", "1111"), "HF611": ("2222",)}
    assert accepted_by_operator("HF610:3333") == expected
    monkeypatch.setenv("HOLDFAST_ACCEPT", "HF610")
    with pytest.raises(ConfigError, match="HOLDFAST_ACCEPT is 'HF610'"):
        accepted_by_operator(None)


def test_a_granted_refusal_is_passed_once() -> None:
    record = MemoryStorage()
    error = refused(record, ADOPTED)
    for code in ("HF610", "HF611"):
        record.files[f"granted/{code}-{error.nonces[code]}.json"] = b""
    assert accept(record, ADOPTED).codes() == {"HF610", "HF611"}
    assert refused(record, ADOPTED).nonces != error.nonces


def test_nonces_are_read_by_their_codes() -> None:
    assert read_accept(None) == {}
    assert read_accept("HF610:7c1f, HF611:02ab") == {"HF610": "7c1f", "HF611": "02ab"}
    with pytest.raises(ConfigError, match="CODE:NONCE"):
        read_accept("HF610")


class BrokenRuleError(Exception):
    """An error with an address in it, which is another one in every process."""

    def __str__(self) -> str:
        return f"no rule of <object at {id(self):#x}> postgres://a:hunter2@db/x"


def failing(severity: Severity) -> Rule:
    def judge_nothing(_: Case) -> Iterator[Finding]:
        raise BrokenRuleError

    return Rule(
        code="HF997",
        name="broken-rule",
        severity=severity,
        confidence=Confidence.CERTAIN,
        effect=Effect.LOSES,
        goal=Goal.RESET,
        judge=judge_nothing,
    )


def findings_of(rule: Rule) -> tuple[Finding, ...]:
    case = Case(checkpoint=ADOPTED.checkpoint, stream=ADOPTED)
    return judge_case(case, Catalogue(rules=(rule,))).findings


def test_a_rule_that_raises_refuses_a_start_until_it_is_accepted() -> None:
    record = MemoryStorage()
    with pytest.raises(StartRefusedError) as refusal:
        accept_findings(
            record, ADOPTED, findings_of(failing(Severity.DATA_AT_RISK)), given={}, epoch=1
        )
    error = refusal.value
    assert (
        "HF997 was not judged: the rule itself failed (BrokenRuleError: no rule of <object at 0x…"
        in str(error)
    )
    assert "hunter2" not in str(error)
    assert 'To start anyway, this time only: accept="HF997:' in str(error)
    given = {"HF997": (error.nonces["HF997"],)}
    again = findings_of(failing(Severity.DATA_AT_RISK))
    assert accept_findings(record, ADOPTED, again, given=given, epoch=1).codes() == {"HF997"}


def test_a_rule_that_raises_and_would_not_refuse_is_only_said() -> None:
    (found,) = findings_of(failing(Severity.RISK))
    assert not found.refuses_start
    assert (found.confidence, found.effect, found.goal) == (
        Confidence.UNKNOWN,
        Effect.NONE,
        Goal.NONE,
    )


def test_one_rule_that_raises_does_not_silence_the_others() -> None:
    case = Case(checkpoint=ADOPTED.checkpoint, stream=ADOPTED)
    found = judge_case(case, Catalogue(rules=(failing(Severity.NOTE), *find_rules()))).findings
    assert found[:-1] == judge(ADOPTED)
    assert not found[-1].is_judged


def test_a_finding_of_another_sink_is_not_covered_by_one_that_was_accepted() -> None:
    """After the fence, what is new must speak, also if its rule was accepted for one sink."""
    found = [each for each in judge(ADOPTED) if each.sink is not None]
    first = next(each for each in found if each.sink == "first")
    second = next(each for each in found if (each.code, each.sink) == (first.code, "second"))
    accepted = Accepted((first,))
    assert accepted.covers(first)
    assert not accepted.covers(second)
