"""Values are followed through the forms that programs use, and never guessed."""

from __future__ import annotations

import pytest

from holdfast.lint.check import check_file

START = 'df.writeStream.option("checkpointLocation", {}).toTable("t")'
FOLLOWED = {
    "a class constant": 'class C:\n    CP = "/tmp/a"\n' + START.format("C.CP"),
    "an attribute": (
        'class J:\n    def __init__(self):\n        self.cp = "/tmp/a"\n    def go(self, df):\n'
        "        return " + START.format("self.cp")
    ),
    "a dictionary": 'conf = {"cp": "/tmp/a"}\n' + START.format('conf["cp"]'),
    "os.path.join": 'import os\nROOT = "/tmp"\n' + START.format('os.path.join(ROOT, "a")'),
    "a Path": START.format('str(Path("/tmp") / "a")'),
    "as_posix": START.format('Path("/tmp/a").as_posix()'),
    "a keyword of toTable": 'df.writeStream.toTable("t", checkpointLocation="/tmp/a")',
    "a default": "def go(df, cp='/tmp/a'):\n    return " + START.format("cp") + "\ngo(df)",
    "a writer that a function returns": (
        'def make(df, cp):\n    return df.writeStream.option("checkpointLocation", cp)\n'
        'make(df, "/tmp/a").toTable("t")'
    ),
    "the last value before it": 'CP = "s3://a"\nCP = "/tmp/a"\n' + START.format("CP"),
}
NOT_KNOWN = {
    "the other branch": 'CP = "s3://a"\nif x:\n    CP = "/tmp/a"\n' + START.format("CP"),
    "a later value": START.format("CP") + '\nCP = "/tmp/a"',
    "a loop": "for cp in paths:\n    " + START.format("cp"),
    "two values of a global": (
        'CP = "s3://a"\nCP = "/tmp/a"\ndef go(df):\n    return ' + START.format("CP")
    ),
    "a tuple": 'CP, X = "/tmp/a", 1\n' + START.format("CP"),
    "a subscript that is not there": "conf = {}\n" + START.format('conf["cp"]'),
    "an addition": 'CP = "s3://"\nCP += "/tmp/a"\n' + START.format("CP"),
    "with": "with place() as cp:\n    " + START.format("cp"),
    "a setting": START.format('spark.conf.get("cp")'),
    "a join of something else": START.format('"/".join(parts)'),
    "itself": "cp = cp\n" + START.format("cp"),
}
BATCH = 'def save(b, i):\n    b.write.mode("append").saveAsTable("t")\n'
FUNCTIONS = {
    "partial": BATCH + "df.writeStream.foreachBatch(partial(save, x=1)).start()",
    "a factory": (
        'def make(t):\n    def save(b, i):\n        b.write.mode("append").saveAsTable(t)\n'
        '    return save\ndf.writeStream.foreachBatch(make("t")).start()'
    ),
    "a method": (
        'class J:\n    def save(self, b, i):\n        b.writeTo("t").append()\n'
        "    def go(self, df):\n        return df.writeStream.foreachBatch(self.save).start()"
    ),
    "insertInto": BATCH.replace('mode("append").saveAsTable', "insertInto")
    + "df.writeStream.foreachBatch(save).start()",
}


def codes(text: str) -> list[str]:
    report = check_file("job.py", text.encode())
    assert report.unreadable is None
    return [each.finding.code for each in report.findings]


@pytest.mark.parametrize("text", FOLLOWED.values(), ids=FOLLOWED)
def test_it_is_followed(text: str) -> None:
    assert "HF802" in codes(text)


@pytest.mark.parametrize("text", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_is_not_known_is_not_guessed(text: str) -> None:
    assert not {"HF801", "HF802", "HF803"} & set(codes(text))


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_batch_function_is_found(text: str) -> None:
    assert "HF811" in codes(text)


def test_the_application_id_is_another_in_every_run() -> None:
    assert "HF803" in codes(START.format("f's3://a/{spark.sparkContext.applicationId}'"))


def test_a_query_that_is_assigned_and_never_used_is_not_awaited() -> None:
    text = "spark = S.builder.getOrCreate()\nq = " + START.format('"s3://a"')
    assert codes(text) == ["HF832"]
    assert codes(f"{text}\nwatch(q)") == []
