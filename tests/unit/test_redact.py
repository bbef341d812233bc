from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.redact import has_credentials, redact, redact_location


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3a://KEY:SECRET@lake/x", "s3a://***@lake/x"),
        ("s3a://KEY:SEC/RET@lake/x", "s3a://***@lake/x"),
        ("s3a://KEY@lake/x", "s3a://***@lake/x"),
        ("s3a://KEY:SECRET", "s3a://***"),
        ("KEY:SECRET@lake/x", "***@lake/x"),
        (
            "abfss://lake:SECRET@acme.dfs.core.windows.net/x",
            "abfss://***@acme.dfs.core.windows.net/x",
        ),
        ("az://lake@acme/x?sv=1&sig=SECRET", "az://lake@acme/x?***"),
        ("delta.`s3a://KEY:SECRET@lake/x`", "delta.`s3a://***@lake/x`"),
        ("jdbc:postgresql://h/db?password=SECRET", "jdbc:postgresql://h/db?***"),
    ],
)
def test_a_location_is_shown_without_its_credentials(text: str, shown: str) -> None:
    assert redact_location(text) == shown
    assert has_credentials(text)


@pytest.mark.parametrize(
    "text",
    [
        "/data/cp",
        "/data/a:b@c",
        "file:/data/a@b",
        "s3a://lake/user@example.com/x",
        "s3a://lake/in/2024-??/part=1",
        "abfss://lake@acme.dfs.core.windows.net/x",
        "az://lake@acme/x",
        "hdfs://name:8020/cp",
        "http://[::1]:9000/lake",
        "dbfs:/user@x",
        "main.gold.readings",
    ],
)
def test_a_location_without_credentials_is_shown_as_it_is(text: str) -> None:
    assert redact_location(text) == text
    assert not has_credentials(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET http://KEY:SECRET@h:1/b?list=2 failed", "GET http://***@h:1/b?list=2 failed"),
        ("fs.s3a.secret.key=SECRET, region=x", "fs.s3a.secret.key=***, region=x"),
        ("{'secret_access_key': 'SECRET'}", "{'secret_access_key': ***}"),
        ("https://h/b?sv=1&sig=SECRET&x=2", "https://h/b?sv=1&sig=***&x=2"),
        ("password='SEC RET' host=h", "password=*** host=h"),
        ("InvalidTokenException: no token here", "InvalidTokenException: no token here"),
        ("the design=7 of a@b.example", "the design=7 of a@b.example"),
        ("postgresql:gold@env:DSN", "postgresql:gold@env:DSN"),
    ],
)
def test_text_is_shown_without_the_credentials_in_it(text: str, shown: str) -> None:
    assert redact(text) == shown


@given(
    scheme=st.sampled_from(["s3a", "az", "file", "hdfs", "jdbc:postgresql"]),
    user=st.text(alphabet="ab1:@.*%?="),
    path=st.text(alphabet="ab1:/@?=.*"),
)
def test_no_password_of_a_url_is_shown(scheme: str, user: str, path: str) -> None:
    assert "SECRET" not in redact_location(f"{scheme}://{user}:SECRET@lake{path}")


@given(st.text())
def test_any_text_can_be_shown(text: str) -> None:
    assert isinstance(redact(text) + redact_location(text), str)
