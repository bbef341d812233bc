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
GO = "df.writeStream.foreachBatch({}).start()"
APPEND = 'b.write.format("jdbc").option("url", u).mode("append").save()'
SAVE = f"def save(b, i):\n    {APPEND}\n"
JOB = f"class Job:\n    def save(self, b, i):\n        {APPEND}\n"
BEHIND = {
    "a lambda": SAVE + GO.format("lambda b, i: save(b, i)"),
    "a lambda that names the id": SAVE + GO.format("lambda b, i: save(b, i=i)"),
    "a lambda in a variable": SAVE + "fn = lambda b, i: save(b, i)\n" + GO.format("fn"),
    "a variable": SAVE + "fn = save\n" + GO.format("fn"),
    "a partial with a place": SAVE.replace("(b, i)", "(t, b, i)")
    + GO.format('functools.partial(save, "t")'),
    "a partial with a name": SAVE.replace("(b, i)", "(b, i, t)") + GO.format("partial(save, t=1)"),
    "a partial in a variable": SAVE + "fn = partial(save)\n" + GO.format("fn"),
    "a partial of a partial": SAVE.replace("(b, i)", "(t, u, b, i)")
    + GO.format("partial(partial(save, 1), 2)"),
    "a method of a new instance": JOB + GO.format("Job().save"),
    "a method of an instance": JOB + "job = Job()\n" + GO.format("job.save"),
    "a method of a class": f"class Job:\n    @staticmethod\n    def save(b, i):\n        {APPEND}\n"
    + GO.format("Job.save"),
    "a method of a parameter": JOB + "def go(df, job: Job):\n    " + GO.format("job.save"),
    "a method beside one of the same name": JOB
    + JOB.replace("Job", "Other").replace("append", "error")
    + GO.format("Job().save"),
    "a method of a base class": JOB + "class Mine(Job):\n    pass\n" + GO.format("Mine().save"),
    "a method that calls another": "class Job:\n    def put(self, b):\n        "
    f"{APPEND}\n    def save(self, b, i):\n        self.put(b)\n" + GO.format("Job().save"),
    "an attribute that holds a function": SAVE
    + "class Job:\n    def __init__(self):\n        self.fn = save\n    def go(self, df):\n        "
    + GO.format("self.fn"),
    "an attribute that holds an instance": JOB
    + "class Run:\n    def __init__(self):\n        self.job = Job()\n    def go(self, df):\n"
    + "        "
    + GO.format("self.job.save"),
    "a callable object": JOB.replace("def save", "def __call__") + GO.format("Job()"),
    "a callable object in a variable": JOB.replace("def save", "def __call__")
    + "job = Job()\n"
    + GO.format("job"),
    "a nested function": f"def go(df):\n    def save(b, i):\n        {APPEND}\n    "
    + GO.format("save"),
    "a decorated function": "@retry\n" + SAVE + GO.format("save"),
    "a wrapper of the file": SAVE
    + "def wrap(f):\n    def inner(b, i):\n        f(b, i)\n    return inner\n"
    + GO.format("wrap(save)"),
    "a factory that returns a lambda": SAVE
    + "def make():\n    return lambda b, i: save(b, i)\n"
    + GO.format("make()"),
    "an id that only helpers see": "def put(b, i):\n    print(i)\n    " + APPEND + "\n"
    "def save(b, i):\n    put(b, i)\n" + GO.format("save"),
    "a writer in a variable": 'def save(b, i):\n    w = b.write.format("jdbc")\n'
    '    w = w.mode("append")\n    w.save()\n' + GO.format("save"),
    "INSERT by SQL": 'def save(b, i):\n    b.createOrReplaceTempView("v")\n'
    '    b.sparkSession.sql("INSERT INTO t SELECT * FROM v")\n' + GO.format("save"),
    "INSERT by SQL into a table by name": 'def save(b, i):\n    spark.sql(f"""\n'
    '      insert into table {name} SELECT * FROM v""")\n' + GO.format("save"),
}
USED = "b.write.option('txnVersion', i).option('txnAppId', app).mode('append').saveAsTable('t')"
RECOGNISED = {
    "a lambda that uses the id": GO.format(f"lambda b, i: {USED}"),
    "a helper that uses the id": f"def put(b, n):\n    {USED.replace(', i)', ', n)')}\n"
    + GO.format("lambda b, i: put(b, i)"),
    "a helper of another file": "def save(b, i):\n    seen(i)\n    "
    + APPEND
    + "\n"
    + GO.format("save"),
    "a partial that uses the id": f"def save(t, b, i):\n    {USED}\n"
    + GO.format("partial(save, 1)"),
    "a method that uses the id": f"class J:\n    def save(self, b, i):\n        {USED}\n"
    + GO.format("J().save"),
    "INSERT OVERWRITE": 'def save(b, i):\n    spark.sql("INSERT OVERWRITE t SELECT * FROM v")\n'
    + GO.format("save"),
    "INSERT REPLACE WHERE": "def save(b, i):\n"
    '    spark.sql("INSERT INTO t REPLACE WHERE day = 1 SELECT * FROM v")\n' + GO.format("save"),
    "INSERT of what is missing": "def save(b, i):\n    spark.sql("
    '"INSERT INTO t SELECT * FROM v LEFT ANTI JOIN t ON v.id = t.id")\n' + GO.format("save"),
    "MERGE": 'def save(b, i):\n    spark.sql("MERGE INTO t USING v ON t.id = v.id")\n'
    + GO.format("save"),
    "SELECT": 'def save(b, i):\n    spark.sql("SELECT 1")\n' + GO.format("save"),
    "a method of an imported class": JOB + "from jobs import Other\n" + GO.format("Other().save"),
    "a method that is not there": JOB + GO.format("Job().load"),
    "two functions of one name": SAVE + SAVE + GO.format("save"),
    "itself": "def save(b, i):\n    save(b, i)\n" + GO.format("save"),
}
TEMPORARY = {
    "gettempdir": START.format('tempfile.gettempdir() + "/cp"'),
    "gettempdir as it is imported": START.format('gettempdir() + "/cp"'),
    "gettempdir in an f-string": START.format('f"{tempfile.gettempdir()}/cp"'),
    "gettempdir in a variable": "d = tempfile.gettempdir()\n" + START.format('d + "/cp"'),
    "gettempdir joined": START.format('os.path.join(tempfile.gettempdir(), "cp")'),
    "gettempdir as a Path": START.format('str(Path(tempfile.gettempdir()) / "cp")'),
    "TMPDIR": START.format('os.environ["TMPDIR"] + "/cp"'),
    "TMPDIR with a default": START.format('os.getenv("TMPDIR", "/x") + "/cp"'),
}
NEW_EVERY_RUN = {
    "mkdtemp": START.format("tempfile.mkdtemp()"),
    "mkdtemp with a prefix": 'd = mkdtemp(prefix="cp")\n' + START.format('f"{d}/a"'),
    "TemporaryDirectory": "with tempfile.TemporaryDirectory() as d:\n    " + START.format("d"),
    "TemporaryDirectory joined": "with TemporaryDirectory() as d:\n    "
    + START.format('os.path.join(d, "cp")'),
    "the name of a TemporaryDirectory": "d = TemporaryDirectory()\n" + START.format("d.name"),
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


@pytest.mark.parametrize("text", BEHIND.values(), ids=BEHIND)
def test_an_append_is_found_behind_what_calls_it(text: str) -> None:
    assert codes(text).count("HF811") == 1


@pytest.mark.parametrize("text", RECOGNISED.values(), ids=RECOGNISED)
def test_a_batch_that_is_recognised_or_not_known_is_not_found(text: str) -> None:
    assert "HF811" not in codes(text)


@pytest.mark.parametrize("text", TEMPORARY.values(), ids=TEMPORARY)
def test_the_directory_for_temporary_files_is_found(text: str) -> None:
    assert "HF802" in codes(text)


@pytest.mark.parametrize("text", NEW_EVERY_RUN.values(), ids=NEW_EVERY_RUN)
def test_a_directory_that_is_new_in_every_run_is_found(text: str) -> None:
    assert "HF803" in codes(text)


def test_the_application_id_is_another_in_every_run() -> None:
    assert "HF803" in codes(START.format("f's3://a/{spark.sparkContext.applicationId}'"))


def test_a_query_that_is_assigned_and_never_used_is_not_awaited() -> None:
    text = "spark = S.builder.getOrCreate()\nq = " + START.format('"s3://a"')
    assert codes(text) == ["HF832"]
    assert codes(f"{text}\nwatch(q)") == []
