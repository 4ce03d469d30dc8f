"""Numbers and units as people type and read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection_memory import KINDS
from ses_webface.quantities import (
    UnreadableNumberError,
    read_number,
    shortest_writing,
    show_bytes,
    show_number,
    to_canonical,
)

RATE, SPACE = KINDS[2], KINDS[4]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("20", 20),
        (" 1.5 ", 1.5),
        ("1,5", 1.5),
        ("0,125", 0.125),
        ("1 000", 1000),
        ("1\u00a0000", 1000),
        ("2e3", 2000),
    ],
)
def test_numbers_are_read_as_people_type_them(typed: str, value: float) -> None:
    assert read_number(typed) == value


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("fast", "Write a number"),
        ("", "Write a number"),
        ("1.2.3", "Write a number"),
        ("nan", "Write a number"),
        ("inf", "Write a number"),
        ("٣", "Write a number"),
        ("1e999", "too large"),
        ("-3", "negative"),
        ("0", "Leave the field empty"),
        ("1,000", "two ways"),
    ],
)
def test_what_is_not_a_requirement_is_explained(typed: str, says: str) -> None:
    with pytest.raises(UnreadableNumberError, match=says):
        read_number(typed)


def test_decimal_and_binary_units_are_kept_apart() -> None:
    assert to_canonical(1, "GB/s", RATE) == 1000
    assert to_canonical(1, "GiB/s", RATE) == pytest.approx(1073.741824)
    assert to_canonical(1, "TB", SPACE) == 1000
    assert to_canonical(1, "GiB", SPACE) == pytest.approx(1.073741824)


@pytest.mark.parametrize(
    ("stored", "number", "unit"),
    [
        (20, "20", "MB/s"),
        (1000, "1", "GB/s"),
        (1073.741824, "1", "GiB/s"),
        (100, "100", "MB/s"),
        (0.5, "0.5", "MB/s"),
    ],
)
def test_stored_values_are_written_short(stored: float, number: str, unit: str) -> None:
    assert shortest_writing(stored, RATE) == (number, unit)


@given(st.floats(min_value=1e-6, max_value=1e9), st.sampled_from(KINDS), st.data())
def test_writing_and_reading_again_changes_nothing(value: float, kind: object, data: st.DataObject) -> None:
    assert kind in KINDS
    unit = data.draw(st.sampled_from(kind.units))
    stored = to_canonical(value, unit, kind)
    number, shown_unit = shortest_writing(stored, kind)
    assert math.isclose(to_canonical(float(number), shown_unit, kind), stored, rel_tol=1e-11)


def test_numbers_are_shown_with_three_digits() -> None:
    assert show_number(88.0493) == "88"
    assert show_number(0.12345) == "0.123"
    assert show_number(12345.6) == "12\u202f346"
    assert show_number(None) == "–"
    assert show_bytes(1.5e9) == "1.5\u00a0GB"
    assert show_bytes(0) == "0\u00a0B"
