"""The settings of the decision: one file, checked before the service starts, shown to who asks."""

import dataclasses
from pathlib import Path

import pytest
import ses_core
from invoked import invoked
from ses_service.commands.main import main
from ses_service.decision.rows import policy_of
from ses_service.model.policies import Policies, PoliciesError, described, policies_of, settings


def test_the_defaults_are_those_of_the_core() -> None:
    assert policy_of(Policies()) == ses_core.defaults()


def test_every_field_is_a_setting_that_says_what_it_is_for() -> None:
    assert [setting.name for setting in settings()] == [field.name for field in dataclasses.fields(Policies)]
    assert all(setting.says for setting in settings())
    assert policies_of({setting.name: list(setting.default) if isinstance(setting.default, frozenset)
                        else setting.default for setting in settings()}) == Policies()  # fmt: skip


def test_what_a_file_names_is_set_and_the_rest_keeps_its_default() -> None:
    given = policies_of({"scarce_tiers": ["nvme"], "max_data_age": 30, "overrule_stripe_hints": True})
    assert given == Policies(scarce_tiers=frozenset({"nvme"}), max_data_age=30.0, overrule_stripe_hints=True)
    assert described(given) == (
        "max_data_age 30 (default 10), scarce_tiers nvme (default none), "
        "overrule_stripe_hints true (default false)"
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"saturaton": 0.9}, "saturaton is no setting; did you mean saturation?"),
        ({"saturation": 1.5}, "saturation = 1.5 is not from 0.01 to 1"),
        ({"saturation": "much"}, "saturation is a number"),
        ({"saturation": True}, "saturation is a number"),
        ({"max_stripes": 2.5}, "max_stripes is a whole number"),
        ({"max_stripes": 0}, "max_stripes = 0 is not from 1 to 1000"),
        ({"scarce_tiers": "nvme"}, "scarce_tiers is a list of texts"),
        ({"overrule_stripe_hints": 1}, "overrule_stripe_hints is true or false"),
        ({"unseen_streams": float("nan")}, "unseen_streams = nan is not from 0 to 1000"),
    ],
)
def test_what_is_wrong_is_named(table: dict[str, object], said: str) -> None:
    with pytest.raises(PoliciesError) as caught:
        policies_of(table)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"), [("kept_shar = 3", "did you mean kept_share?"), ("kept_share =", "Invalid value")]
)
def test_a_service_does_not_start_with_a_wrong_file(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "policies.toml"
    file.write_text(text)
    state = tmp_path / "state"
    done = invoked(
        main, ["serve", "--trust-loopback", "--state-dir", str(state), "--policies", str(file)], code=1
    )
    assert str(file) in done.output
    assert said in done.output
    assert not (state / "ledger.db").exists()
