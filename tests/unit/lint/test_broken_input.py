"""Whatever a file holds, checking it gives a value."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from holdfast.lint.check import check_file

JOB = """\
import uuid, shutil
CP = f"/tmp/{uuid.uuid4()}"
OPTS = {"failOnDataLoss": "false", **more}
shutil.rmtree(CP)
df = spark.readStream.format("kafka").options(**OPTS).load().dropDuplicates(["id"])
class Job:
    def save(self, b, i):
        try:
            requests.post(url); b.write.mode("append").option("txnAppId", "x").save("t")
        except (Exception, OSError) as e:
            print(e)
def go(df, cp=CP, *a, name: str = "q", **k):
    w = df.writeStream.foreachBatch(Job().save).trigger(once=True)
    w = w.option("checkpointLocation", cp) if cp else w
    return w.outputMode("complete").start()
go(df); go(*dfs, **kw); x = go; y = y.start().writeStream.start(); (lambda b, i: b.write)(1, 2)
z = z.writeStream.foreachBatch(lambda b, i: b.write.mode("append").jdbc(u)).start()
f = f; f.writeStream.option(*o).options(p).foreachBatch(partial(f)).toTable(**t)
"""


@given(st.binary())
def test_any_bytes(content: bytes) -> None:
    for name in ("job.py", "book.ipynb"):
        check_file(name, b"# writeStream\n" + content)


@given(st.data())
def test_lines_of_a_job_cut_and_shuffled(data: st.DataObject) -> None:
    lines = data.draw(st.permutations(JOB.splitlines()))
    text = "\n".join(lines[: data.draw(st.integers(0, len(lines)))])
    check_file("job.py", text.encode())
    cells = [{"cell_type": "code", "source": [each]} for each in lines]
    check_file("book.ipynb", json.dumps({"cells": cells}).encode())


def test_the_whole_job_is_judged() -> None:
    report = check_file("job.py", JOB.encode())
    assert report.unreadable is None
    assert report.streams == 3
    assert {"HF801", "HF811", "HF821"} <= {each.finding.code for each in report.findings}
