"""Why a stream was not started, for the engineer on call."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.rules import Finding


class StartRefusedError(HoldfastError):
    """A stream was not started, because starting it would lose or duplicate data."""

    code = "START_REFUSED"

    def __init__(
        self,
        stream: str,
        findings: tuple[Finding, ...],
        nonces: dict[str, str],
        *,
        so_far: str = "nothing was written",
    ) -> None:
        self.stream = stream
        self.so_far = so_far
        """What the start has changed until it was refused."""
        self.findings = findings
        self.nonces = nonces
        """What accepts each finding, by its code."""
        first = findings[0]
        super().__init__(
            what=f"{first.code} {first.name}: {stream} was not started; {so_far}.",
            why=" ".join(_sentence(finding.what) for finding in findings),
            how=first.how,
        )

    def __str__(self) -> str:
        lines = [f"{self.findings[0].code} {self.findings[0].name}"]
        lines.append(f"  {self.stream} was not started; {self.so_far}.")
        for finding in self.findings:
            lines += [f"  {_sentence(finding.what)}", f"  {finding.how}"]
        for finding in self.findings:
            accept = f'accept="{finding.code}:{self.nonces[finding.code]}"'
            lines.append(f"  To start anyway, this time only: {accept} ({finding.accepting}).")
        return "\n".join(lines)


def _sentence(text: str) -> str:
    """Return what was found with a capital, where it begins with a sink and not with a name."""
    return f"The {text.removeprefix('the ')}" if text.startswith("the ") else text


class FenceNotTakenError(HoldfastError):
    """Another driver has the sink: it was later, or in the same moment."""

    code = "FENCE_NOT_TAKEN"

    def __init__(self, stream: str, shown: str) -> None:
        super().__init__(
            what=f"{stream} was not started; no batch was written.",
            why=f"{shown} was fenced by another driver of {stream} while this one was starting.",
            how="Let the other driver run, or stop it and start again.",
        )


class UnsupportedSparkError(HoldfastError):
    """This Spark session cannot run a guarded stream."""

    code = "UNSUPPORTED_SPARK"

    def __init__(self, why: str) -> None:
        super().__init__(
            what="The stream was not started; nothing was written.",
            why=why,
            how="Use a classic session of PySpark 4.0 to 4.2.",
        )
