"""The tools of `holdfast mcp` and their arguments, as the server describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.cli.mcp_server.tools import Tool, find_tools


def tools_table() -> list[str]:
    """Return every tool with its arguments, as Markdown."""
    tools = find_tools(allows_apply=True).values()
    return [line for tool in tools for line in _tool(tool)][1:]


def _tool(tool: Tool) -> Iterator[str]:
    yield ""
    yield f"## `{tool.name}`"
    yield ""
    first, _, goals = tool.description.partition("\n")
    only = "" if tool.is_read_only else " Only with `--allow-apply`."
    yield f"{first}{only}"
    yield ""
    if goals:
        yield from (goals, "")
    yield "| argument | type | meaning |"
    yield "| --- | --- | --- |"
    schema = tool.input_schema
    required, properties = schema.get("required", []), schema["properties"]
    assert isinstance(properties, Mapping)
    assert isinstance(required, list)
    for name, each in properties.items():
        needed = ", required" if name in required else ""
        yield f"| `{name}` | {_type(each)}{needed} | {_description(each)} |"


def _type(schema: Mapping[str, object]) -> str:
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return " or ".join(_type(each) for each in choices if each.get("type") != "null")
    items = schema.get("items")
    if isinstance(items, Mapping):
        return f"list of {_type(items)}"
    return str(schema.get("type", "any"))


def _description(schema: Mapping[str, object]) -> str:
    choices = schema.get("anyOf", [])
    assert isinstance(choices, list)
    below = (str(each["description"]) for each in choices if "description" in each)
    return str(schema.get("description") or next(below, ""))
