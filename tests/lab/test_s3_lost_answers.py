"""The S3 proxy loses answers: the store has the first request, and gets no repetition of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import obstore
import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from lab import S3
from lab.faults.s3_proxy import S3Proxy
from lab.s3 import ACCESS_KEY, BUCKET, REGION, SECRET_KEY


@pytest.fixture
def proxy(s3: S3) -> Iterator[S3Proxy]:
    with S3Proxy(s3.port) as running:
        yield running


def through(proxy: S3Proxy) -> S3Store:
    return S3Store(
        BUCKET,
        endpoint=f"http://127.0.0.1:{proxy.port}",
        access_key_id=ACCESS_KEY,
        secret_access_key=SECRET_KEY,
        region=REGION,
        client_options={"allow_http": True, "timeout": "5s"},
        retry_config={"max_retries": 0},
    )


def test_the_store_has_what_the_client_does_not_know_of(s3: S3, proxy: S3Proxy) -> None:
    path = f"lost/{uuid.uuid4().hex}"
    lost = proxy.lose_answers("/lost/", tries=2)
    with pytest.raises(BaseError):
        obstore.put(through(proxy), path, b"first")
    lost.wait()
    with pytest.raises(BaseError):
        obstore.put(through(proxy), path, b"second")
    assert obstore.get(s3.store(), path).bytes().to_bytes() == b"first"
    obstore.put(through(proxy), f"{path}-other", b"not lost")
    obstore.put(through(proxy), path, b"third")
    assert obstore.get(s3.store(), path).bytes().to_bytes() == b"third"
