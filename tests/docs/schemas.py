"""The schemas of what the commands answer as JSON.

python -m tests.docs.schemas       write them again
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import msgspec

from holdfast.cli.adopt_json import AdoptJson
from holdfast.cli.audit_json import AuditJson
from holdfast.cli.check_json import CheckJson
from holdfast.cli.diagnosis_json import DiagnosisJson
from holdfast.cli.facts_json import FactsJson
from holdfast.cli.fleet_json import AnyFleetJson
from holdfast.cli.inspect_json import AnyInspectJson
from holdfast.cli.mcp_server.answers import ToolAnswer
from holdfast.cli.prove_json import ProofJson
from holdfast.cli.state_json import StateJson
from holdfast.drills.summary import SummaryJson
from tests.docs.repair_forms import ApplyAnswer, PlanAnswer
from tests.house.repository import ROOT

FORMS = {
    "adopt": AdoptJson,
    "apply": ApplyAnswer,
    "audit": AuditJson,
    "check": CheckJson,
    "diagnose": DiagnosisJson,
    "drill": SummaryJson,
    "facts": FactsJson,
    "fleet": AnyFleetJson,
    "inspect": AnyInspectJson,
    "plan": PlanAnswer,
    "prove": ProofJson,
    "state": StateJson,
    "tool": ToolAnswer,
}


_ENVELOPE = {"version", "holdfast", "verdict"}


def schema_of(name: str) -> bytes:
    """Return the schema of a form."""
    schema = _cleaned(msgspec.json.schema(FORMS[name], schema_hook=_of_any))
    for each in schema["$defs"].values():
        if each.get("properties", {}).keys() >= _ENVELOPE:  # always there, with or without default
            each["required"] = sorted(
                {*each["required"], *_ENVELOPE}, key=[*each["properties"]].index
            )
    found = msgspec.json.encode(schema)
    return msgspec.json.format(found, indent=2) + b"\n"


def _of_any(kind: type) -> dict[str, str]:
    """Return the schema of a value that another form describes."""
    assert kind is object
    return {"description": "As the JSON form of the command has it."}


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
