"""The LogStore for S3 against a real store, and through proxies that hold and lose its requests."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import obstore
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import UnsupportedOperationException
from pyspark.sql import SparkSession

from campaigns.lost_answers.in_delta import EVERY_TRY, FEW_TRIES
from holdfast.sinks.delta.log_store import LOG_STORE
from holdfast.spark.classic.jvm import jvm_of, new_array
from lab import S3
from lab.faults.s3_answers import CONFLICT, INTERNAL, Error
from lab.faults.s3_proxy import S3Proxy
from lab.log_store import log_store_jar
from lab.s3 import BUCKET

ALREADY = "java.nio.file.FileAlreadyExistsException"
PREFIX = "spark.hadoop."


Make = Callable[..., "Writer"]


class Writer:
    """The LogStore as Delta would make it; it has seen no bucket yet."""

    def __init__(self, kind: Any, spark: SparkSession, settings: dict[str, str]) -> None:
        self._jvm = jvm_of(spark)
        seen = kind.getDeclaredField("KEEPS_CONDITION")
        seen.setAccessible(True)
        seen.get(None).clear()
        self._conf = self._jvm.org.apache.hadoop.conf.Configuration(
            spark._jsparkSession.sessionState().newHadoopConf()
        )
        for name, value in {**settings, "fs.s3a.impl.disable.cache": "true"}.items():
            self._conf.set(name.removeprefix(PREFIX), value)
        given = new_array(spark, self._jvm.java.lang.Object, 1)
        given[0] = self._conf
        self._store = kind.getConstructors()[0].newInstance(given)

    def write(self, path: str, *lines: str, overwrite: bool = False) -> None:
        """Write a file as Delta would write a commit."""
        actions = self._jvm.java.util.ArrayList()
        for line in lines:
            actions.add(line)
        where = self._jvm.org.apache.hadoop.fs.Path(path)
        self._store.write(where, actions.iterator(), overwrite, self._conf)


@pytest.fixture(scope="module")
def kind(spark: SparkSession) -> Any:
    """Load the jar once: py4j takes two classes with one name for the same."""
    jvm = jvm_of(spark)
    urls = new_array(spark, jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(str(log_store_jar())).toURI().toURL()
    parent = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    return jvm.java.net.URLClassLoader(urls, parent).loadClass(LOG_STORE)


@pytest.fixture
def proxy(s3: S3) -> Iterator[S3Proxy]:
    with S3Proxy(s3.port) as running:
        yield running


@pytest.fixture
def path() -> str:
    return f"log-store/{uuid.uuid4().hex}/_delta_log/00000000000000000007.json"


@pytest.fixture
def make(kind: Any, spark: SparkSession, s3: S3) -> Make:
    """Return what makes a LogStore, through a proxy or with more settings."""

    def make_writer(proxy: S3Proxy | None = None, **more: str) -> Writer:
        port = None if proxy is None else proxy.port
        settings = {name.replace("_", "."): value for name, value in more.items()}
        return Writer(kind, spark, {**s3.spark_settings(port=port), **settings})

    return make_writer


def there(s3: S3, path: str) -> bytes:
    return obstore.get(s3.store(), path).bytes().to_bytes()


def thrown(failed: pytest.ExceptionInfo[Py4JJavaError]) -> str:
    return str(failed.value.java_exception.getClass().getName())


def test_a_file_that_is_there_stays(s3: S3, make: Make, path: str) -> None:
    other = make()
    other.write(f"s3a://{BUCKET}/{path}", "first", "line")
    with pytest.raises(Py4JJavaError) as failed:
        other.write(f"s3a://{BUCKET}/{path}", "second")
    assert thrown(failed) == ALREADY
    assert there(s3, path) == b"first\nline\n"
    other.write(f"s3a://{BUCKET}/{path}", "third", overwrite=True)
    assert there(s3, path) == b"third\n"


@pytest.mark.parametrize("same", [False, True], ids=["other bytes", "the same bytes"])
def test_a_request_that_was_held_replaces_nothing(
    *, s3: S3, proxy: S3Proxy, make: Make, path: str, same: bool
) -> None:
    """The identity decides, not the content: two drivers can write the same."""
    writer, other = make(proxy), make()
    held = proxy.hold(path)
    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(writer.write, f"s3a://{BUCKET}/{path}", "first")
        held.arrived.wait()
        other.write(f"s3a://{BUCKET}/{path}", "first" if same else "second")
        held.release()
        with pytest.raises(Py4JJavaError) as failed:
            writing.result()
    assert thrown(failed) == ALREADY
    assert there(s3, path) == (b"first\n" if same else b"second\n")


@pytest.mark.parametrize("tries", [1, EVERY_TRY], ids=["then refused (412)", "every try"])
def test_a_commit_whose_answer_was_lost_is_its_own(
    *, s3: S3, proxy: S3Proxy, make: Make, path: str, tries: int
) -> None:
    """The first try landed: what the store or the network says afterwards is no other driver."""
    few = {name.replace(".", "_"): value for name, value in FEW_TRIES.items()}
    lost = proxy.lose_answers(path, tries=tries)
    make(proxy, **(few if tries > 1 else {})).write(f"s3a://{BUCKET}/{path}", "first")
    assert lost.is_fired
    assert there(s3, path) == b"first\n"


@pytest.mark.parametrize("error", [CONFLICT, INTERNAL], ids=["409", "500"])
def test_a_commit_that_landed_and_was_answered_with_an_error_is_its_own(
    *, s3: S3, proxy: S3Proxy, make: Make, path: str, error: Error
) -> None:
    """What repeats the request is then refused with 412, and that is no other driver either."""
    told = proxy.errors.tell(path, error, landed=True)
    make(proxy).write(f"s3a://{BUCKET}/{path}", "first")
    assert told.is_fired
    assert there(s3, path) == b"first\n"


def test_a_commit_is_repeated_while_the_store_answers_409(
    *, s3: S3, proxy: S3Proxy, make: Make, path: str
) -> None:
    told = proxy.errors.tell(path, CONFLICT, landed=False, times=3)
    make(proxy).write(f"s3a://{BUCKET}/{path}", "first")
    assert told.is_fired
    assert there(s3, path) == b"first\n"


def test_a_commit_that_only_gets_409_fails_and_leaves_nothing(
    *, s3: S3, proxy: S3Proxy, make: Make, path: str
) -> None:
    proxy.errors.tell(path, CONFLICT, landed=False, times=EVERY_TRY)
    with pytest.raises(Py4JJavaError, match="409"):
        make(proxy).write(f"s3a://{BUCKET}/{path}", "first")
    with pytest.raises(FileNotFoundError):
        there(s3, path)


def test_a_store_that_ignores_the_condition_is_found_at_the_first_commit(
    proxy: S3Proxy, make: Make, path: str
) -> None:
    proxy.pretend(path)
    with pytest.raises(Py4JJavaError, match="ignores If-None-Match"):
        make(proxy).write(f"s3a://{BUCKET}/{path}", "first")


def test_a_large_commit_is_conditional_too(s3: S3, make: Make, path: str) -> None:
    """In parts: its completion carries the condition."""
    large = make(fs_s3a_multipart_size="5M", fs_s3a_multipart_threshold="5M")
    lines = ["x" * 1_000_000] * 12
    large.write(f"s3a://{BUCKET}/{path}", *lines)
    with pytest.raises(Py4JJavaError) as failed:
        large.write(f"s3a://{BUCKET}/{path}", *("y" * 1_000_000 for _ in range(12)))
    assert thrown(failed) == ALREADY
    assert there(s3, path) == "".join(f"{line}\n" for line in lines).encode()


def test_a_file_system_without_the_condition_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationException, match="sends no conditional PUT"):
        make().write(f"file://{tmp_path}/00000000000000000000.json", "first")
    assert list(tmp_path.iterdir()) == []


def test_the_condition_that_is_turned_off_is_refused(make: Make, path: str) -> None:
    with pytest.raises(UnsupportedOperationException, match="sends no conditional PUT"):
        make(fs_s3a_create_conditional_enabled="false").write(f"s3a://{BUCKET}/{path}", "first")
