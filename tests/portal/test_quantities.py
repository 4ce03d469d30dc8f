"""Numbers and units as people type and read them."""

import math
import re

import pytest
from fake_selection import KINDS
from hypothesis import given
from hypothesis import strategies as st
from ses_client.messages.requirements import required
from ses_client.messages.vocabulary import Kind
from ses_webface.quantities import (
    UnreadableNumberError,
    as_stated,
    read_number,
    read_quantity,
    shortest_writing,
    show_bytes,
    show_number,
    to_canonical,
)
from units import RATES, SIZES

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


@pytest.mark.parametrize(
    ("typed", "value", "number", "unit"),
    [
        ("500 MB/s", 500, "500", "MB/s"),
        ("500MB/s", 500, "500", "MB/s"),
        (" 1,5 GiB/s ", 1.5, "1,5", "GiB/s"),
        ("1\u00a0000 MB/s", 1000, "1\u00a0000", "MB/s"),
        ("2e3 MB/s", 2000, "2e3", "MB/s"),
        ("20 mb/s", 20, "20", "MB/s"),
        ("20", 20, "20", "GB/s"),
        ("2e3", 2000, "2e3", "GB/s"),
    ],
)
def test_a_unit_typed_with_the_number_goes_before_the_one_chosen(
    typed: str, value: float, number: str, unit: str
) -> None:
    assert read_quantity(typed, "GB/s", RATE) == (value, number, unit)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("500 Mb/s", "“Mb/s” counts bits, and is no unit of this. Did you mean 62.5MB/s?"),
        ("500 GB", "“GB” is no unit of this"),
        ("8x", "“x” is no unit of this. Write 8 MB/s, for example. Units are"),
        ("fast", "Write a number"),
        ("MB/s", "Write a number"),
        ("-3 MB/s", "negative"),
        ("1,000 MB/s", "two ways"),
        ("5 MB/s 6", "Write a number"),
    ],
)
def test_what_is_not_a_quantity_is_explained(typed: str, says: str) -> None:
    with pytest.raises(UnreadableNumberError, match=says):
        read_quantity(typed, "MB/s", RATE)


@pytest.mark.parametrize("kind", [RATE, SPACE], ids=["rate", "size"])
def test_a_wrong_unit_is_answered_with_the_one_that_was_meant(kind: Kind) -> None:
    for typed, right in (RATES if kind is RATE else SIZES).items():
        try:
            _value, number, unit = read_quantity(typed, kind.unit, kind)
        except UnreadableNumberError as error:
            match = re.search(r"Did you mean (\S+)\?", str(error))
            assert (match[1] if match else "") == right, typed
        else:
            assert f"{number}{unit}" == right


@given(value=st.floats(1e-3, 1e9), unit=st.sampled_from(SPACE.units))
def test_what_is_stored_is_shown_as_it_was_typed(value: float, unit: str) -> None:
    typed = float(format(value, ".12g"))
    stored = required("free-capacity", to_canonical(typed, unit, SPACE), SPACE.unit, stated_unit=unit)
    number, shown = as_stated(stored, SPACE)
    assert (float(number), shown) == (pytest.approx(typed, rel=1e-14), unit)
    assert len(number) <= 14 + 5, "no digits that nobody typed"
