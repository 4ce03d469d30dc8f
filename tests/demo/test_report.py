"""The report: text from data, on any width, honest about what went wrong."""

import io
import json

import pytest
from ses.demo.report import Report, Row, passed_over, show
from ses.output import console
from ses_client.messages.requirements import Subject
from ses_client.messages.selections import Candidate, PlacementRecord, Prediction, Rates, Refusal


def row(**changes):
    values = {
        "program": "dd", "user": "root", "file": "zeros.dat", "size": 24_000_000,
        "requirements": ("current write 50 MB/s",), "levels": ("user root",), "chosen": "b2",
        "predicted": ("current write 90 MB/s",), "distance": 0.0,
        "got": ("current write 62 MB/s: met",),
        "passed_over": "b1: only current write 45 MB/s, distance 0.10", "verified_on": "b2",
        "as_chosen": True, "as_decided": True,
        "measured": True, "seconds": 0.5, "rate": 48.0, "plain_on": "b1",
        "plain_seconds": 1.5, "plain_rate": 16.0,
    }  # fmt: skip
    return Row(**{**values, **changes})


def report(*rows, throttled=True, together=(), hints=()):
    conditions = ("branches: on loop devices",)
    return Report(conditions, throttled, ("b1", "b3"), "pfrd", rows or (row(),), together, hints)


def rendered(what, monkeypatch, columns=120):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    show(console(stream), what)
    return stream.getvalue()


def test_the_text_has_every_fact(monkeypatch):
    text = rendered(report(), monkeypatch)
    for fact in (
        "zeros.dat",
        "(user root)",
        "b2: current write 90 MB/s, distance 0.00",
        "b1: only current write 45",
        "62 MB/s: met",
        "48 MB/s on b2; without the library 16 MB/s on b1*",
        "branches: on loop devices",
        "policy pfrd",
        "3.0 times as long",
        "Every file is on",
    ):
        assert fact in text


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_off_a_terminal_the_table_keeps_to_the_width(monkeypatch, columns):
    text = rendered(report(together=(row(user="zażółć", got=("größer",) * 9),)), monkeypatch, columns)
    assert "zażółć" in text
    assert max(len(line) for line in text.splitlines() if "|" in line) <= columns


@pytest.mark.parametrize(("columns", "used"), [(20, 80), (1000, 200)])
def test_odd_widths_are_kept_between_80_and_200(monkeypatch, columns, used):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert console(io.StringIO()).width == used


def test_a_file_elsewhere_than_chosen_is_said_with_the_hints(monkeypatch):
    bad = row(program="tar", verified_on="b7", as_chosen=False)
    what = report(row(), bad, hints=("ses-agent's log ends: lost",))
    text = rendered(what, monkeypatch)
    assert "b7 WRONG" in text
    assert "tar (root, zeros.dat): NOT on the chosen element" in text
    assert "lost" in text
    assert not what.verified


def test_a_file_that_had_a_nearer_element_is_said(monkeypatch):
    what = report(row(), row(program="tar", as_decided=False))
    assert "tar (root, zeros.dat): another element was nearer to the need" in rendered(what, monkeypatch)
    assert not what.verified


def test_programs_that_ran_together_have_a_table_with_what_was_asked_promised_and_got(monkeypatch):
    together = (row(user="daemon", file="part-1.dat"), row(user="games", verified_on="b4", seconds=2.5))
    what = report(together=together)
    text = rendered(what, monkeypatch)
    assert what.verified
    for fact in ("2 programs of 2 users", "asked", "promised", "got", "daemon: part-1.dat", "2.5 s, on 2"):
        assert fact in text
    assert not report(together=(row(as_chosen=False),)).verified


def test_a_file_that_was_not_placed_is_said(monkeypatch):
    text = rendered(
        report(row(chosen=None, predicted=(), distance=None, passed_over="", as_chosen=False)), monkeypatch
    )
    assert "not placed" in text


def test_a_rate_that_means_nothing_is_not_shown(monkeypatch):
    assert "48" not in rendered(report(row(measured=False)), monkeypatch)


def test_without_speed_limits_the_ratio_is_not_claimed(monkeypatch):
    text = rendered(report(throttled=False), monkeypatch)
    assert "times as long" not in text
    assert "says nothing about placement" in text


def test_totals_are_sums_and_nothing_at_all_is_not_verified():
    what = report(row(), row(seconds=1.5, plain_seconds=2.5))
    assert (what.seconds, what.plain_seconds, what.ratio) == (2.0, 4.0, 2.0)
    assert not Report((), True, (), "pfrd", ()).verified


def test_json_has_every_field_of_every_row():
    data = json.loads(json.dumps(report().as_json()))
    assert data["programs"][0]["levels"] == ["user root"]
    assert set(data["programs"][0]) == set(Row.__dataclass_fields__)
    assert data["ratio"] == 3.0


def candidate(rank, name, distance, write, shortfall):
    predicted = Prediction(
        kind="current-write-rate", value=write, unit="MB/s", minimum=50.0, shortfall=shortfall
    )
    return Candidate(
        rank=rank,
        element=f"union/{name}",
        distance=distance,
        free_gb=0.2,
        predicted=(predicted,),
        age_seconds=0.3,
        basis="monitor+ledger",
        available=Rates(read_mb_s=100.0, write_mb_s=write),
    )


def placement(candidates, refused=()):
    return PlacementRecord(
        placement_id="aa",
        state="ended",
        subject=Subject(user="root", application="dd"),
        element="union/b2",
        target="/b2",
        path="/u/f",
        distance=0.0,
        candidates=tuple(candidates),
        refused=tuple(refused),
    )


def test_passed_over_names_the_first_refused_element_with_its_reason():
    placed = placement(
        [candidate(1, "b2", 0, 90, 0)], [Refusal(element="union/b9", reason="no-space", detail="It is full.")]
    )
    assert passed_over(placed) == "b9: It is full."


def test_passed_over_names_the_best_that_falls_short_before_the_next_in_rank():
    ranked = [candidate(1, "b2", 0, 90, 0), candidate(2, "b4", 0, 60, 0), candidate(3, "b1", 0.1, 45, 0.1)]
    assert passed_over(placement(ranked)) == "b1: only current write 45 MB/s, distance 0.10"
    assert passed_over(placement(ranked[:2])).startswith("b4: rank 2")
    assert passed_over(placement(ranked[:1])) == ""
