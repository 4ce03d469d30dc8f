"""Quotas on the portal: administrators see all and what is used up soon, others their own."""

import pytest
from answers import text_of
from ses_client.errors import UnavailableError
from ses_client.messages.quotas import Quota

GB = 1e9


def quota(name: str, used: float, days: float | None, **more: object) -> Quota:
    facts = {
        "system": "scratch", "kind": "user", "name": name, "vo": "",
        "used_bytes": used * GB, "limit_bytes": 100 * GB,
        "used_bytes_per_day": None if days is None else 2.5 * GB, "full_in_days": days, "sampled_at": 1.8e9,
    }  # fmt: skip
    return Quota(**{**facts, **more})  # type: ignore[arg-type]


@pytest.fixture
def limited(site):
    site.quota_list = (
        quota("full", 100, 0.0, kind="project"),
        quota("alice", 80, 8.0),
        quota("mat", 50, 20.4, kind="group", vo="materials"),
        quota("bob", 10, 400.0, system="home"),
        quota("carol", 10, None),
    )
    return site


def test_an_administrator_sees_all_and_what_is_used_up_soon(root, limited) -> None:
    page = text_of(root.get("/storage"))
    outlook = page.partition('aria-label="Quota outlook">')[2].partition("</section>")[0]
    assert "project full on scratch is used up, user alice on scratch in 8 days," in outlook
    assert "group mat on scratch in 20 days." in outlook
    assert "bob" not in outlook
    page = text_of(root.get("/quotas"))
    assert "5 quotas" in page
    assert "<b>80 GB</b> of 100 GB, 80%" in page.replace("\u00a0", " ")
    assert '<span class="badge bad">now</span>' in page
    assert '<span class="badge warn">in 8 days</span>' in page
    assert "VO materials" in page
    assert "in 400 days" in page
    home = text_of(root.get("/quotas?system=home"))
    assert ("user bob" in home, "user alice" in home) == (True, False)


def test_others_see_their_own(alice, limited) -> None:
    page = alice.seen(alice.get("/quotas"))
    assert ("user alice" in page, "bob" in page, "1 quota" in page) == (True, False, True)
    outlook = text_of(alice.get("/storage")).partition('aria-label="Quota outlook">')[2]
    assert "alice" in outlook.partition("</section>")[0]
    assert "full" not in outlook.partition("</section>")[0]


def test_what_is_not_known_is_said_with_what_to_do(alice, root, site) -> None:
    assert "No quota of yours is known" in text_of(alice.get("/quotas"))
    assert "[[quota]]" in text_of(root.get("/quotas"))
    assert "Quota outlook" not in text_of(root.get("/storage"))
    site.quota_troubles = (("scratch", "no answer in time"),)
    assert "Quotas of scratch: no answer in time." in text_of(root.get("/quotas"))
    assert "no answer in time" not in text_of(alice.get("/quotas"))


def test_many_come_in_pages(root, site) -> None:
    site.quota_list = tuple(quota(f"u{number}", 1, None) for number in range(120))
    page = text_of(root.get("/quotas?page=3"))
    assert "Page 3 of 3" in page
    assert page.count('<th scope="row">') == 20
    for junk in ("0", "x", "-1", "99999999999999"):
        assert root.get(f"/quotas?page={junk}").status_code == 200


def test_the_map_is_shown_without_them(root, limited) -> None:
    def away(**_: object) -> None:
        raise UnavailableError("away")

    limited.acting = lambda _person: limited
    limited.quotas = away
    page = text_of(root.get("/storage"))
    assert "union/b1" in page
    assert "Quota outlook" not in page
