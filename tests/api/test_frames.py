"""Frames: typed columns that need no library, and that pandas and polars take without losing a value."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tradefair.api as tf
from tradefair.api.frames import Kind

TYPES: dict[str, Kind] = {"name": "TEXT", "count": "BIGINT", "share": "DOUBLE"}
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False),
    ),
    max_size=8,
)


def test_a_frame_is_a_mapping_of_columns() -> None:
    frame = tf.Frame(TYPES, [("a", 1, 0.5), ("b", None, None)])
    assert dict(frame) == {"name": ["a", "b"], "count": [1, None], "share": [0.5, None]}
    assert list(frame.rows())[1] == {"name": "b", "count": None, "share": None}
    assert (len(frame), frame.height, frame.types) == (3, 2, TYPES)
    assert repr(frame) == "Frame(2 rows: name, count, share)"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        tf.Frame(TYPES, [("a", 1)])


def test_a_notebook_shows_the_first_rows_and_no_strangers_markup() -> None:
    html = tf.Frame({"x": "TEXT"}, [("<script>",)] * 30)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in html
    assert html.count("<tr>") == 21
    assert "30 rows, 20 shown" in html


def back(values: Any, missing: Any) -> list[Any]:
    return [None if missing(value) else value for value in values]


@given(ROWS)
def test_pandas_keeps_every_value(rows: list[tuple[Any, ...]]) -> None:
    pandas: Any = pytest.importorskip("pandas", reason="pandas is no dependency of ours")
    frame = tf.Frame(TYPES, rows)
    made = frame.to_pandas()
    assert {name: back(made[name], pandas.isna) for name in made} == dict(frame)
    assert str(made["count"].dtype) == ("Int64" if None in frame["count"] else "int64")


@given(ROWS)
def test_polars_keeps_every_value(rows: list[tuple[Any, ...]]) -> None:
    polars: Any = pytest.importorskip("polars", reason="polars is no dependency of ours")
    frame = tf.Frame(TYPES, rows)
    made = frame.to_polars()
    assert made.to_dict(as_series=False) == dict(frame)
    assert made.schema == {"name": polars.String, "count": polars.Int64, "share": polars.Float64}


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_without_the_library_the_method_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=name):
        getattr(tf.Frame(TYPES), f"to_{name}")()
