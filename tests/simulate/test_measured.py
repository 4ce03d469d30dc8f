"""The page of figures names the code that made it; nobody has to make it anew to change the rule."""

import re

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
