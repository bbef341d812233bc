"""Arrays of PostgreSQL, of every type that the sink writes, and what is planted into them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from campaigns.prove_faults.columns import (
    MONEY,
    NO_ZONE,
    UUID,
    WITH_ZONE,
    YEAR_10000_US,
)
from campaigns.prove_faults.postgres_columns import SCALARS, column

ARRAYS = (
    column(
        "flags",
        pa.list_(pa.bool_()),
        [True, None],
        "boolean[]",
        "'{t,NULL}'",
        {"false for NULL": "'{t,f}'"},
    ),
    column(
        "shorts",
        pa.list_(pa.int16()),
        [1, 2],
        "smallint[]",
        "'{1,2}'",
        {"the order": "'{2,1}'", "from index 0": "'[0:1]={1,2}'"},
    ),
    column(
        "wides",
        pa.list_(pa.int32()),
        [5, None],
        "bigint[]",
        "'{5,NULL}'",
        {"the same 32 bits": "'{4294967301,NULL}'", "two dimensions": "'{{5,NULL}}'"},
    ),
    column(
        "reals",
        pa.list_(pa.float32()),
        [0.1],
        "real[]",
        "'{0.1}'",
        {"the last bit": "'{0.10000001}'"},
    ),
    column(
        "floats",
        pa.list_(pa.float32()),
        [0.1],
        "float8[]",
        "ARRAY[0.1::float4::float8]",
        {"of 64 bits": "'{0.1}'"},
    ),
    column(
        "zeros",
        pa.list_(pa.float64()),
        [0.0],
        "float8[]",
        "'{0}'",
        {"the sign of zero": "'{-0}'", "one more": "'{0,0}'"},
    ),
    column(
        "prices",
        pa.list_(MONEY),
        [Decimal("1.10")],
        "numeric[]",
        "'{1.10}'",
        {"beyond its scale": "'{1.104}'"},
    ),
    column(
        "texts",
        pa.list_(pa.string()),
        ["a", None, "b"],
        "text[]",
        "'{a,NULL,b}'",
        {"the order": "'{a,b,NULL}'", "a text of NULL": "ARRAY['a','NULL','b']"},
    ),
    column(
        "no_texts",
        pa.list_(pa.string()),
        [],
        "text[]",
        "'{}'",
        {"NULL instead of it": "NULL", "one NULL": "'{NULL}'", "one empty": "ARRAY['']"},
    ),
    column(
        "varchars",
        pa.list_(pa.string()),
        ["x "],
        "varchar(9)[]",
        "ARRAY['x ']::varchar(9)[]",
        {"no space at the end": "ARRAY['x']::varchar(9)[]"},
    ),
    column(
        "blobs",
        pa.list_(pa.binary()),
        [b"\x00"],
        "bytea[]",
        r"ARRAY['\x00'::bytea]",
        {"one byte more": r"ARRAY['\x0000'::bytea]"},
    ),
    column(
        "days", pa.list_(pa.date32()), [0], "date[]", "'{1970-01-01}'", {"infinity": "'{infinity}'"}
    ),
    column(
        "times",
        pa.list_(WITH_ZONE),
        [1],
        "timestamptz[]",
        "'{1970-01-01 00:00:00.000001Z}'",
        {"a microsecond": "'{1970-01-01 00:00:00.000002Z}'"},
    ),
    column(
        "late_times",
        pa.list_(NO_ZONE),
        [YEAR_10000_US],
        "timestamp[]",
        "'{10000-01-01 00:00:00}'",
        {"a day": "'{10000-01-02 00:00:00}'"},
    ),
    column(
        "uuids",
        pa.list_(pa.string()),
        [UUID],
        "uuid[]",
        f"'{{{UUID}}}'",
        {"the last digit": "'{0e37df36-f698-11e6-8dd4-cb9ced3df977}'"},
    ),
    column(
        "jsonbs",
        pa.list_(pa.string()),
        ["[ 1 ]"],
        "jsonb[]",
        "ARRAY['[1]'::jsonb]",
        {"a number": "ARRAY['[2]'::jsonb]"},
    ),
)
POSTGRES = (*SCALARS, *ARRAYS)
