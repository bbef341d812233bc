"""The schemas of what the commands answer as JSON.

python -m tests.docs.schemas       write them again
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import msgspec

from holdfast.cli.check_form import CheckJson
from holdfast.cli.diagnosis_form import DiagnosisJson, FactsJson
from holdfast.cli.inspect_form import AnyInspectJson
from holdfast.cli.prove_form import ProofJson
from holdfast.cli.state_form import StateJson
from holdfast.drills.summary import SummaryJson
from tests.docs.repair_forms import ApplyAnswer, PlanAnswer
from tests.house.repository import ROOT

FORMS = {
    "apply": ApplyAnswer,
    "check": CheckJson,
    "diagnose": DiagnosisJson,
    "drill": SummaryJson,
    "facts": FactsJson,
    "inspect": AnyInspectJson,
    "plan": PlanAnswer,
    "prove": ProofJson,
    "state": StateJson,
}


def schema_of(name: str) -> bytes:
    """Return the schema of a form."""
    found = msgspec.json.encode(_cleaned(msgspec.json.schema(FORMS[name])))
    return msgspec.json.format(found, indent=2) + b"\n"


def _cleaned(schema: Any) -> Any:
    """Return a schema whose descriptions have no indentation, on every version of Python."""
    if isinstance(schema, dict):
        return {
            key: cleandoc(value)
            if key == "description" and isinstance(value, str)
            else _cleaned(value)
            for key, value in schema.items()
        }
    return [_cleaned(each) for each in schema] if isinstance(schema, list) else schema


if __name__ == "__main__":
    for each in FORMS:
        (ROOT / f"docs/reference/{each}.schema.json").write_bytes(schema_of(each))
