"""The templates of pages, filled: every value is escaped, and a missing one is an error."""

from __future__ import annotations


def render(template: str, **values: object) -> str:
    """Return a page.

    Args:
        template: The name of its file in this package.
        values: What it shows.
    """
    import jinja2  # noqa: PLC0415 - costs 30 ms, and only pages need it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("holdfast.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
