"""The arithmetic of the benchmarks, and the table and file made of it."""

import json
import random
from pathlib import Path
from statistics import median

import pytest
from ses_benchmarks.report import machine_line, number, show, write_json
from ses_benchmarks.summary import Measurement, percentile, summarise


@pytest.mark.parametrize(
    ("samples", "percent", "expected"),
    [
        ([5.0], 50, 5.0),
        ([5.0], 99, 5.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([4.0, 3.0, 2.0, 1.0], 50, 2.0),
        (list(map(float, range(1, 101))), 99, 99.0),
        (list(map(float, range(1, 101))), 100, 100.0),
        (list(map(float, range(1, 101))), 0.5, 1.0),
    ],
)
def test_a_percentile_is_the_nearest_rank(samples: list[float], percent: float, expected: float) -> None:
    assert percentile(samples, percent) == expected


@pytest.mark.parametrize(("samples", "percent"), [([], 50), ([1.0], 0), ([1.0], 101)])
def test_a_percentile_of_nothing_is_refused(samples: list[float], percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(samples, percent)


def measured(name: str = "a-name") -> Measurement:
    pairs = [([20.0, 22.0, 90.0], [10.0, 11.0, 12.0]), ([33.0, 30.0], [10.0]), ([12.0], [12.0])]
    return summarise(name, "ns", pairs, baseline_is="without it", note="a note")


def test_a_row_is_made_of_medians_of_pairs() -> None:
    row = measured()
    assert row.ratio == 2.0
    assert (row.ratio_low, row.ratio_high) == (1.0, 3.15)
    assert (row.value, row.baseline) == (22.0, 11.0)
    assert (row.p50, row.p99) == (22.0, 90.0)
    assert (row.pairs, row.samples) == (3, 6)


def test_a_slow_spell_that_hits_both_sides_of_a_pair_leaves_the_ratio_alone() -> None:
    dice = random.Random(1)
    spells = [dice.choice([1, 5, 20]) for _ in range(9)]
    pairs = [([300.0 * spell] * 5, [200.0 * spell] * 5) for spell in spells]
    assert summarise("n", "ns", pairs, baseline_is="b").ratio == pytest.approx(1.5)
    assert median(spells) != 1


@pytest.mark.parametrize(
    "pairs",
    [[], [([], [1.0])], [([1.0], [])], [([1.0], [0.0])]],
    ids=["none", "no value", "no baseline", "zero"],
)
def test_nothing_measured_is_refused_rather_than_printed(
    pairs: list[tuple[list[float], list[float]]],
) -> None:
    with pytest.raises(ValueError, match="a-name"):
        summarise("a-name", "ns", pairs, baseline_is="b")


def test_the_file_is_a_list_of_objects_with_name_value_unit_baseline_and_ratio(tmp_path: Path) -> None:
    path = tmp_path / "made/bench.json"
    write_json(path, [measured("one"), measured("two")])
    first, second = json.loads(path.read_text())
    assert (first["name"], second["name"]) == ("one", "two")
    assert {"name", "value", "unit", "baseline", "ratio", "p50", "p99"} <= set(first)
    assert isinstance(first["value"], float)


def test_the_table_has_one_line_per_row_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show([measured("short"), measured("a-much-longer-name")])
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all("2.00" in line and "(1.00-3.15)" in line and "without it; a note" in line for line in lines)
    column = head.index("ratio")
    assert lines[0][column : column + 5].strip() == lines[1][column : column + 5].strip() == "2.00"


@pytest.mark.parametrize(("value", "text"), [(0.4123, "0.41"), (41.23, "41.2"), (4123.4, "4123")])
def test_numbers_keep_their_meaning_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_the_machine_line_says_where_when_and_under_what_load() -> None:
    line = machine_line()
    assert "CPUs, Linux " in line
    assert " UTC, load " in line
