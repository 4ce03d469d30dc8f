"""What another requirement, or more stripes, would have meant for files that missed."""

from ses_service.decision.what_if import Miss, what_if
from ses_service.ledger.files import File
from ses_service.ledger.placement import Basis, Candidate, Prediction
from ses_service.model.entities import Element
from ses_service.model.kinds import Kind

MB = 1e6
WRITE = Kind.CURRENT_WRITE_RATE


def miss(achieved: float | None, *offered: float | None, required: float = 100) -> Miss:
    """A file that got so many MB/s, where elements were predicted to give so many."""
    file = File(
        "1" * 16, "alice", "dd", None, None, "n1", "u/b0", "/f", 0.0, kind=WRITE.record,
        bound=required * MB, achieved=None if achieved is None else achieved * MB,
    )  # fmt: skip
    candidates = tuple(
        Candidate(
            rank, Element(f"u/b{rank}", "", "b", "u", "/b", "n1"), 0.0, None, None, None,
            (Prediction(WRITE, None if value is None else value * MB, required * MB, 0.0),), None,
            Basis.MONITOR,
        )
        for rank, value in enumerate(offered, 1)
    )  # fmt: skip
    return Miss(file, candidates)


def test_a_requirement_is_named_that_nine_of_ten_of_them_received() -> None:
    (said,) = what_if([miss(achieved) for achieved in range(40, 51)])
    assert "of the latest 11 files that missed a current write rate, nine of ten got 41 MB/s or more" in said


def test_stripes_are_judged_by_what_was_predicted_of_the_elements_that_were_there() -> None:
    _, said = what_if([miss(50, 120, 60), miss(50, 60, None, 50), miss(50, 40, 30, 40)])
    assert said == (
        "spreading files: when 3 of them were created, one element was predicted to give the required "
        "current write rate to 1 of them; the best 3 together were to 3."
    )
    _, said = what_if([miss(50, 20, 20)] * 3)
    assert said.endswith("to 0 of them; several together were to no more.")


def test_nothing_is_said_of_few_files_or_where_nothing_is_kept() -> None:
    assert what_if([miss(50, 120)] * 2) == []
    assert what_if([miss(None)] * 5) == []
    (said,) = what_if([miss(50)] * 5)
    assert "spreading" not in said
