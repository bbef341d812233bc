from __future__ import annotations

import pickle

from holdfast.errors import HoldfastError, MissingExtraError


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
