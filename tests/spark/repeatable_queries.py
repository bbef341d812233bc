"""Expressions on columns of every type, by whether they are proven to repeat."""

from __future__ import annotations

from pyspark.sql import SparkSession

TYPES = (
    "id long, i int, d double, f float, m decimal(20, 10), s string, ts timestamp, dt date,"
    " b boolean, xs array<struct<a: int>>, raw binary"
)

PROVEN = """
    id; id + 1; id - i; id * 2; id % 3; -id; abs(i); i / 2; i div 2; pmod(id, 4); d + 1
    d > 1.5; f * f
    i > 1.5; m > 5; m <= 1.5; i BETWEEN 1 AND 5; i IN (1, 5); s IN ('12', 'x'); id <=> 1; s <> 'x'
    NOT b; b AND i > 1; b OR s IS NULL; i IS NOT NULL; isnan(d); nanvl(d, 0)
    coalesce(s, ''); coalesce(i, 1L); nvl(s, '-'); nvl2(s, 'a', 'b'); greatest(i, 2); least(d, 0D)
    if(i > 1, 'a', s); CASE WHEN i > 1 THEN 'a' WHEN b THEN 'b' END
    s || 'x'; concat_ws('-', s, 'x'); substring(s, 2, 3); left(s, 2); right(s, 2)
    trim(s); length(s)
    lpad(s, 5, '0'); rpad(s, 5, '0'); replace(s, '1', '2'); split(s, ','); split(s, ',')[1]
    s LIKE 'r%'; s RLIKE '^[0-9]+$'; startswith(s, '1'); contains(s, '0'); endswith(s, '0')
    regexp_extract(s, '([0-9]+)', 1); regexp_replace(s, '[0-9]', '#'); get_json_object(s, '$.a')
    from_json(s, 'a INT, b STRING').b; from_json(s, 'a DOUBLE, b ARRAY<STRING>')
    struct(i, s); array(i, 2); xs[0].a; xs.a; element_at(xs, 1)
    md5(s); sha1(s); sha2(s, 256); crc32(s)
    unix_micros(ts); unix_seconds(ts); timestamp_millis(i); timestamp_seconds(i)
    timestamp_micros(id)
    CAST(s AS int); CAST(s AS long); CAST(s AS double); CAST(s AS decimal(10, 2))
    CAST(s AS boolean)
    CAST(s AS date); CAST(s AS binary); CAST(raw AS string); CAST(id AS int); CAST(d AS int)
    CAST(d AS long); CAST(f AS double); CAST(i AS decimal(5, 0)); CAST(m AS decimal(5, 2))
    CAST(m AS double); CAST(i AS string); CAST(b AS string); CAST(b AS int); CAST(dt AS string)
    CAST(ts AS long); CAST(i AS timestamp); CAST(NULL AS string); NULL; DATE '2024-01-01'
    try_cast(s AS int); try_cast(s AS date); s::bigint
"""
DIFFERENT = """
    from_unixtime(id); CAST(ts AS string); CAST(ts AS date); date_format(ts, 'yyyy-MM-dd HH')
    CAST(s AS timestamp); to_timestamp(s); hour(ts); date_trunc('day', ts); CAST(dt AS timestamp)
    ts >= TIMESTAMP '1970-01-01 00:00:00'; ts >= '1970-01-01'
    from_json('{"a": "2024-01-01 00:00:00"}', 'a TIMESTAMP'); to_json(struct(ts))
    ts + INTERVAL 1 DAY
    CAST(m AS string); size(xs); s <> 1; i = s; coalesce(s, 1); f + i
"""
"""Not proven: the time zone or ANSI mode decides the value."""
NOT_PROVEN = """
    current_timestamp(); current_date(); now(); localtimestamp(); unix_timestamp(); current_user()
    current_catalog(); current_database(); session_user(); version(); rand(); randn(); uuid()
    monotonically_increasing_id(); input_file_name(); spark_partition_id(); shuffle(xs)
    from_json(s, 'a TIMESTAMP')
    upper(s); lower(s); initcap(s); s ILIKE 'a'; CAST(d AS string); CAST(f AS string)
    CAST(d AS decimal(20, 10)); CAST(m AS long); round(d); pow(d, 2); m + 1; m * m; hash(s)
    concat(s, i); reflect('java.lang.System', 'nanoTime'); try_add(i, 1); parse_json(s); base64(s)
    (SELECT max(id) FROM range(3)); id IN (SELECT id FROM range(3))
    EXISTS (SELECT 1 FROM range(3) AS r WHERE r.id = i)
"""
HERE, THERE = ("UTC", "false"), ("America/New_York", "true")
"""Time zone and ANSI mode."""


def listed(text: str) -> list[str]:
    """Return the expressions of a list or of a line of it."""
    return [each.strip() for line in text.splitlines() for each in line.split(";") if each.strip()]


def settle(session: SparkSession, around: tuple[str, str]) -> None:
    """Give a session its time zone and its ANSI mode."""
    session.conf.set("spark.sql.session.timeZone", around[0])
    session.conf.set("spark.sql.ansi.enabled", around[1])
