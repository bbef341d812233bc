"""Drivers die where the test says; shown with programs that need no Spark, which is cheap."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Literal

import obstore
import pytest

from holdfast.drills.errors import DriverFailedError, KillDidNotFireError
from holdfast.drills.kill import Driver, Named, Point, Rename, Send
from holdfast.drills.kill.waiting import wait_until
from lab import S3
from lab.faults.s3_proxy import S3Proxy, S3Request

RENAMES = """
    import os, pathlib, sys
    os.chdir(sys.argv[1])
    for number in range(3):
        pathlib.Path("half").write_text(str(number))
        os.rename("half", f"entry-{number}")
    """
POINTS = """
    import pathlib, sys
    from holdfast.points import reached
    for number in range(3):
        reached("loop")
        pathlib.Path(sys.argv[1], f"entry-{number}").write_text("")
    """

SENDS = """
    import os, pathlib, socket, sys
    line = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for number, send in enumerate((line.send, lambda it: os.write(line.fileno(), it), line.send)):
        pathlib.Path(sys.argv[1], "no-socket").write_text("COMMIT")
        send(f"COMMIT {number}\\n".encode())
    """


def make_driver(
    directory: Path, code: str, *arguments: str, proxy: S3Proxy | None = None
) -> Driver:
    program = directory / "program.py"
    program.write_text(textwrap.dedent(code))
    runs = directory / "runs"
    return Driver([str(program), *arguments], environment={}, directory=runs, striker=proxy)


def entries(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("entry-*"))


@pytest.mark.parametrize(
    ("point", "left"),
    [
        (Rename("before", "entry-1"), ["entry-0"]),
        (Rename("after", "entry-1"), ["entry-0", "entry-1"]),
    ],
)
def test_a_rename_kills_before_or_after_it_happens(
    point: Rename, left: list[str], tmp_path: Path
) -> None:
    ended = make_driver(tmp_path, RENAMES, str(tmp_path)).run_until_killed(point)
    assert ended.fired == str(point)
    assert ended.status == -signal.SIGKILL
    assert entries(tmp_path) == left


def test_a_rename_does_not_kill_who_reports_the_end(tmp_path: Path) -> None:
    """The report is renamed too, and ends like the commits of a Delta table."""
    code = RENAMES.replace("entry-{number}", "entry-{number}.json")
    ended = make_driver(tmp_path, code, str(tmp_path)).run_until_killed(Rename("after", ".json"))
    assert ended.log.with_suffix(".fired").read_text().splitlines() == ["after:.json:1"]
    assert entries(tmp_path) == ["entry-0.json"]


@pytest.mark.parametrize(
    ("point", "arrived"),
    [
        (Send("before", "COMMIT", 1), 0),
        (Send("before", "COMMIT", 3), 2),
        (Send("after", "COMMIT", 2), 2),
        (Send("after", "COMMIT", 3), 3),
    ],
)
def test_what_is_sent_kills_before_or_after_it_is_out(
    point: Send, arrived: int, tmp_path: Path
) -> None:
    """What is written to a file does not count; what was out arrives."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        ended = make_driver(tmp_path, SENDS, str(tmp_path), port).run_until_killed(point)
        line, _ = server.accept()
        with line, line.makefile() as lines:
            assert lines.readlines() == [f"COMMIT {number}\n" for number in range(arrived)]
    assert ended.fired == str(point)


def test_a_named_point_kills_at_its_nth_time(tmp_path: Path) -> None:
    make_driver(tmp_path, POINTS, str(tmp_path)).run_until_killed(Named("loop", 3))
    assert entries(tmp_path) == ["entry-0", "entry-1"]


@pytest.mark.parametrize("point", [Rename("before", "entry-9"), Named("never"), Named("loop", 4)])
def test_a_kill_that_does_not_fire_is_an_error_and_not_a_pass(point: Point, tmp_path: Path) -> None:
    code = RENAMES if isinstance(point, Rename) else POINTS
    with pytest.raises(KillDidNotFireError) as raised:
        make_driver(tmp_path, code, str(tmp_path)).run_until_killed(point)
    assert raised.value.point == str(point)


def test_a_driver_that_is_killed_by_something_else_did_not_die_at_its_point(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(KillDidNotFireError):
        make_driver(tmp_path, code).run_until_killed(Named("loop"))


def test_a_driver_that_fails_by_itself_says_so_with_its_log(tmp_path: Path) -> None:
    with pytest.raises(DriverFailedError) as raised:
        make_driver(tmp_path, "raise SystemExit('the table is gone')").run_to_end()
    assert raised.value.status == "exit code 1"
    assert "the table is gone" in str(raised.value)


def test_a_driver_can_be_halted_at_a_point_and_go_on(tmp_path: Path) -> None:
    driver = make_driver(tmp_path, POINTS, str(tmp_path))
    running = driver.start(Named("loop", 2), strike=signal.SIGSTOP)
    running.wait_until_halted()
    assert entries(tmp_path) == ["entry-0"]
    running.resume()
    assert running.wait().status == 0
    assert entries(tmp_path) == ["entry-0", "entry-1", "entry-2"]


def test_cpu_time_of_a_killed_grandchild_is_counted(tmp_path: Path) -> None:
    code = """
        import subprocess, sys
        from holdfast.points import reached
        burn = "import time\\nwhile time.process_time() < 1: pass\\nprint('burnt', flush=True)"
        burn += "; input()"
        child = subprocess.Popen([sys.executable, "-c", burn], stdin=-1, stdout=-1)
        child.stdout.readline()
        reached("burnt")
        """
    ended = make_driver(tmp_path, code).run_until_killed(Named("burnt"))
    assert ended.cpu_seconds >= 1


PUTS = """
    import sys
    import obstore
    from obstore.store import S3Store
    from lab.s3 import ACCESS_KEY, BUCKET, REGION, SECRET_KEY
    store = S3Store(
        BUCKET,
        endpoint=f"http://127.0.0.1:{sys.argv[1]}",
        access_key_id=ACCESS_KEY,
        secret_access_key=SECRET_KEY,
        region=REGION,
        client_options={"allow_http": True},
    )
    for number in range(3):
        obstore.put(store, f"{sys.argv[2]}/entry-{number}", b"x" * 100_000)
    """

RENAME_FAILS = """
    import contextlib, os, pathlib, sys
    os.chdir(sys.argv[1])
    pathlib.Path("half").write_text("")
    with contextlib.suppress(OSError):
        os.rename("half", "taken")
    """
PUT_FAILS = (
    PUTS.partition("for number")[0]
    + """
    try:
        obstore.put(store, f"{sys.argv[2]}/taken", b"", mode="create")
    except obstore.exceptions.AlreadyExistsError:
        pass
    """
)


@pytest.mark.parametrize(
    ("when", "left"), [("before", ["entry-0"]), ("after", ["entry-0", "entry-1"])]
)
def test_an_s3_request_kills_before_it_is_passed_on_or_after_its_answer(
    when: Literal["before", "after"], left: list[str], *, s3: S3, tmp_path: Path
) -> None:
    prefix = tmp_path.name
    with S3Proxy(s3.port) as proxy:
        driver = make_driver(tmp_path, PUTS, str(proxy.port), prefix, proxy=proxy)
        driver.run_until_killed(S3Request(when, r"/entry-1$"))
    listed = obstore.list(s3.store(), prefix=prefix).collect()
    assert sorted(Path(each["path"]).name for each in listed) == left


def test_a_point_that_one_run_did_not_reach_strikes_no_later_run(s3: S3, tmp_path: Path) -> None:
    with S3Proxy(s3.port) as proxy:
        driver = make_driver(tmp_path, PUTS, str(proxy.port), tmp_path.name, proxy=proxy)
        with pytest.raises(KillDidNotFireError):
            driver.run_until_killed(S3Request("before", r"/entry-2$", nth=2))
        driver.run_to_end()
        assert len(proxy.requests) == 2 * 3, "a connection was broken and a request sent again"
    assert list(tmp_path.glob("runs/*.fired")) == []


@pytest.mark.parametrize("point", [Rename("after", "taken"), S3Request("after", "/taken$")])
def test_what_failed_has_no_after(point: Point, s3: S3, tmp_path: Path) -> None:
    """A rename onto a directory and a conditional put onto an object both fail."""
    (tmp_path / "taken").mkdir()
    code = RENAME_FAILS if isinstance(point, Rename) else PUT_FAILS
    with S3Proxy(s3.port) as proxy:
        where = str(tmp_path) if isinstance(point, Rename) else str(proxy.port)
        driver = make_driver(tmp_path, code, where, tmp_path.name, proxy=proxy)
        obstore.put(s3.store(), f"{tmp_path.name}/taken", b"")
        with pytest.raises(KillDidNotFireError) as raised:
            driver.run_until_killed(point)
    assert raised.value.status == "exit code 0"


def test_a_driver_that_takes_too_long_is_ended_by_the_drill_and_that_is_said(
    tmp_path: Path,
) -> None:
    driver = make_driver(tmp_path, "import signal; signal.pause()")
    ended = driver.start().wait(seconds=0.5)
    assert ended.timed_out
    assert ended.describe().startswith("SIGKILL from the drill, at the time limit, after ")


def test_what_passes_the_s3_proxy_arrives_unchanged(s3: S3, tmp_path: Path) -> None:
    with S3Proxy(s3.port) as proxy:
        make_driver(tmp_path, PUTS, str(proxy.port), tmp_path.name, proxy=proxy).run_to_end()
        assert [each.method for each in proxy.requests] == ["PUT"] * 3
    found = obstore.get(s3.store(), f"{tmp_path.name}/entry-2").bytes().to_bytes()
    assert found == b"x" * 100_000


def test_when_the_lab_is_killed_its_drivers_end_too(tmp_path: Path) -> None:
    forever = tmp_path / "forever.py"
    forever.write_text("import time\nwhile True: time.sleep(1)\n")
    code = f"""
        from pathlib import Path
        from holdfast.drills.kill import Driver
        driver = Driver([{str(forever)!r}], environment={{}}, directory=Path({str(tmp_path)!r}))
        print(driver.start().pid, flush=True)
        input()
        """
    lab = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert lab.stdout is not None
    driver = int(lab.stdout.readline())
    lab.kill()
    lab.communicate()
    assert wait_until(lambda: not Path(f"/proc/{driver}").exists(), seconds=20)
