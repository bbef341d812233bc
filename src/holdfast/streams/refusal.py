"""Why a stream was not started, for the engineer on call."""

from __future__ import annotations

from shlex import quote

from holdfast.errors import HoldfastError
from holdfast.grades import Goal
from holdfast.record.repairs import say_how_to_end
from holdfast.rules import Finding
from holdfast.storage.location import needs_session


class StartRefusedError(HoldfastError):
    """A stream was not started, because starting it would lose or duplicate data."""

    code = "START_REFUSED"

    def __init__(
        self,
        stream: str,
        findings: tuple[Finding, ...],
        nonces: dict[str, str],
        *,
        root: str = "",
        so_far: str = "nothing was written",
    ) -> None:
        self.stream = stream
        self.root = root
        """Where the record is."""
        self.so_far = so_far
        """What the start has changed until it was refused."""
        self.findings = findings
        self.nonces = nonces
        """What accepts each finding, by its code."""
        self.stale: dict[str, str] = {}
        """What was given to accept a finding and does not: for another refusal, or used up."""
        first = findings[0]
        super().__init__(
            what=f"{first.code} {first.name}: {stream} was not started; {so_far}.",
            why=" ".join(_sentence(finding.what) for finding in findings),
            how=first.how,
        )

    def __str__(self) -> str:
        more = f" (1 of {len(self.findings)} findings)" if len(self.findings) > 1 else ""
        lines = [f"{self.findings[0].code} {self.findings[0].name}{more}"]
        lines.append(f"  {self.stream} was not started; {self.so_far}.")
        for number, finding in enumerate(self.findings):
            if number:
                lines += ["", f"  {finding.code} {finding.name}"]
            lines += [f"  {line}" for line in self._block(finding)]
        return "\n".join([*lines, "", *self._accepting()])

    def _accepting(self) -> list[str]:
        """Return how to accept it from outside the program: one command for each answer."""
        answers = self._answers()
        # The command could not write there.
        is_far = needs_session(self.root)
        how = "set HOLDFAST_ACCEPT for one start" + ("" if is_far else ", or run")
        if len(answers) == 1:
            return [f"  To accept without editing code, {how}:", self._command(*answers[0][1:])]
        asked = " ".join(dict.fromkeys(each.question for each in self.findings if each.question))
        lines = [f"  {asked} Look for its rows first: only one of the answers is right."]
        for means, *codes in answers:
            lines += [f"  With {codes[-1]} {means}. To give this answer, {how}:"]
            lines += [self._command(*codes)]
        return lines

    def _command(self, *codes: str) -> str:
        given = " ".join(f"{code}:{self.nonces[code]}" for code in codes)
        if needs_session(self.root):
            return f"    HOLDFAST_ACCEPT={quote(given)}"
        return f"    holdfast accept {self.stream} {given} --root {quote(self.root or 'ROOT')}"

    def _answers(self) -> list[tuple[str, ...]]:
        """Return what would settle the refusal: what each answer means, and its codes."""
        asked = list(dict.fromkeys(each.code for each in self.findings if each.question))
        plain = list(dict.fromkeys(each.code for each in self.findings if not each.question))
        means = {each.code: each.accepting for each in self.findings}
        if not asked:
            return [("", *plain)]
        return [(means[code], *plain, code) for code in asked]

    def _block(self, finding: Finding) -> list[str]:
        nonce = self.nonces[finding.code]
        is_goal = finding.goal is not Goal.NONE
        todo = f"What to do ({finding.goal}): {finding.how}" if is_goal else finding.how
        lines = [_sentence(finding.what), todo]
        if finding.code in self.stale:
            lines.append(
                f"{finding.code}:{self.stale[finding.code]} does not accept this: it is for "
                "another refusal, or was used already."
            )
        accept = f'accept="{finding.code}:{nonce}"'
        return [*lines, f"To start anyway, this time only: {accept} ({finding.accepting})."]


def _sentence(text: str) -> str:
    """Return what was found with a capital, where it begins with a sink and not with a name."""
    return f"The {text.removeprefix('the ')}" if text.startswith("the ") else text


class UnfinishedRepairStartError(HoldfastError):
    """A plan was begun on the stream and has not ended: its checkpoint may be half changed."""

    code = "UNFINISHED_REPAIR_AT_START"

    def __init__(self, stream: str, *, goal: str, journal: str) -> None:
        self.journal = journal
        super().__init__(
            what=f"{stream} was not started; nothing was written.",
            why=f"A {goal} was begun and has not ended; its journal is {journal}.",
            how=say_how_to_end(journal),
        )


class FenceNotTakenError(HoldfastError):
    """Another driver has the sink: it was later, or in the same moment."""

    code = "FENCE_NOT_TAKEN"

    def __init__(self, stream: str, shown: str) -> None:
        super().__init__(
            what=f"{stream} was not started; no batch was written.",
            why=f"{shown} was fenced by another driver of {stream} while this one was starting.",
            how="Let the other driver run, or stop it and start again.",
        )


class LeaseLostAtStartError(HoldfastError):
    """Another driver, or a plan, took the lease during a start."""

    code = "LEASE_LOST_AT_START"
    retryable = True

    def __init__(self, stream: str) -> None:
        super().__init__(
            what=f"{stream} was not started; no batch was written.",
            why="Another driver or `holdfast apply` has taken the lease meanwhile: by a takeover, "
            "or because this start was paused for longer than its lease lasts.",
            how="Make sure that no other driver is to run it, then start again.",
        )
