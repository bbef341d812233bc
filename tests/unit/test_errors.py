from __future__ import annotations

import pickle
import traceback

import pytest

from holdfast.errors import ConfigError, HoldfastError, MissingExtraError, without_our_frames
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.postgres.sink import Postgres


def test_an_error_says_what_why_and_how_in_that_order() -> None:
    error = HoldfastError(what="Nothing was done.", why="It is late.", how="Come back.")
    assert str(error) == "Nothing was done. It is late. Come back."


def test_an_error_with_facts_survives_the_way_back_from_an_executor() -> None:
    error = MissingExtraError("The fleet scan", module="pyspark", extra="spark")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is MissingExtraError
    assert (copy.purpose, copy.module, copy.extra) == ("The fleet scan", "pyspark", "spark")
    assert (copy.what, copy.why, copy.how) == (error.what, error.why, error.how)
    assert str(copy) == str(error)


def test_every_error_has_a_code_of_its_own() -> None:
    kinds = [HoldfastError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    codes = [kind.code for kind in kinds]
    assert len(codes) == len(set(codes))


def test_an_error_cannot_steer_a_terminal() -> None:
    error = HoldfastError(what="evil\x1b[31m.", why="two\nlines.", how="Remove \u202eit.")
    assert str(error) == r"evil\x1b[31m. two" + "\n" + r"lines. Remove \u202eit."
    assert (error.what, error.how) == (r"evil\x1b[31m.", r"Remove \u202eit.")


def test_a_public_function_shows_no_frames_of_ours() -> None:
    def deep() -> None:
        raise ConfigError("A reason.")

    @without_our_frames
    def public() -> None:
        deep()

    with pytest.raises(ConfigError) as raised:
        public()
    shown = "".join(traceback.format_exception(raised.value))
    assert "deep" not in shown
    assert public.__name__ == "public"


@pytest.mark.parametrize("kind", [Postgres, Delta])
def test_a_sink_that_is_declared_wrongly_shows_no_frames_of_ours(kind: type) -> None:
    with pytest.raises(ConfigError) as raised:
        kind(**({"dsn": "env:X"} if kind is Postgres else {}), table="t", keys="id")
    assert len(raised.traceback) == len(["this test", "the frame that raises"])
