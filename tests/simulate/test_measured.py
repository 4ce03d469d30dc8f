"""The page of figures names the code that made it; nobody has to make it anew to change the rule."""

import re
from pathlib import Path

import pytest
from ses_simulate import measured
from ses_simulate.cases.measured import FAMILIES, TERMS
from ses_simulate.policies.variants import VARIANTS


def test_the_page_says_which_code_made_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.search(r"`[0-9a-f]{16}`", measured.PAGE.read_text("utf-8"))
    monkeypatch.setattr(measured, "digest", lambda: "0" * 16)
    assert measured.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().out


def test_the_page_has_every_family_and_term() -> None:
    outcomes = {
        (family, rule, seed): (1.0 + seed / 10, 0.5 + seed / 10) for family, rule, seed in measured.needed(2)
    }
    page = measured.page(outcomes, 2)
    assert all(f"| `{family}`" in page for family in FAMILIES)
    assert all(f"(`{variant}`) |" in page for variant in TERMS)
    assert "| `needs-0.85` | 55.0 " in page
    assert TERMS.keys() <= VARIANTS.keys()


def test_fewer_seeds_than_an_interval_takes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--seeds", "1"], ["--jobs", "0"]):
        with pytest.raises(SystemExit) as ended:
            measured.main(words)
        assert ended.value.code == 2
    assert "two seeds" in capsys.readouterr().err


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [("family", "ours", seed) for seed in range(2)]
    monkeypatch.setattr(measured, "needed", lambda _: runs)
    monkeypatch.setattr(measured, "run_all", lambda _, todo, *__: dict.fromkeys(todo, (1.0, 0.5)))
    keep = tmp_path / "kept"
    keep.write_text('["family", "ours", 0, 2.0, 0.5]\n["family", "ou')
    assert measured.measure(2, 1, keep) == {runs[0]: (2.0, 0.5), runs[1]: (1.0, 0.5)}
    assert len(measured.measure(2, 1, keep)) == 2
