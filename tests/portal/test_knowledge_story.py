"""The portal on a real service whose vocabulary and site were extended by data, some of it hostile."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from portal_stack import PASSWORD, SITE, Stack, running_stack

LATENCY = SITE.parent / "latency.ttl"
BAD = "<img src=x onerror=alert(1)>"
HOSTILE = f"""
:Patience a qsm:Metric, owl:NamedIndividual ;
    rdfs:label "patience {BAD}"@en ;
    skos:definition "How long \\"{BAD}\\" may take."@en ;
    skos:example "At most 3 s."@en ;
    qsm:name "revision" ; qsm:constrains :latency ; odrl:operator odrl:lteq ; qsm:defaultWeight 1.0e0 ;
    qudt:hasQuantityKind quantitykind:Time ; qudt:hasUnit unit:SEC .

:Mean a qsm:Profile, owl:NamedIndividual ;
    rdfs:label "mean {BAD}"@en ;
    skos:definition "Tries {BAD}."@en ; skos:example "None."@en ; qsm:name "mean" ;
    qsm:requires [ a qsm:Requirement ; odrl:leftOperand :Latency ; odrl:operator odrl:lteq ;
        odrl:rightOperand 5.0e0 ; odrl:unit unit:MilliSEC ; qsm:weight 1.0e0 ; qsm:strictness qsm:Soft ] .
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The example site, every branch with a label that would be markup; two administrators and a person."""
    base = tmp_path_factory.mktemp("knowledge")
    site = base / f"{BAD}.ttl"
    text = SITE.read_text().replace("/srv/qstorman", str(base))
    assert '"Branch 1"' in text
    site.write_text(text.replace('"Branch ', f'"{BAD} '))
    words = base / "words.ttl"
    words.write_text(LATENCY.read_text() + HOSTILE)
    accounts = {"nobody": False, "root": True, "boss": True}
    with running_stack(base, site, accounts=accounts, environment={"SES_VOCABULARY": str(words)}) as running:
        yield running


def _save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Files created from now on follow it.")).to_be_visible()


def test_a_kind_added_by_data_is_edited_like_any_other(stack: Stack, open_window) -> None:
    """Latency: label, help, units and direction come from a Turtle file, its value goes to the service."""
    page = open_window(timezone_id="Europe/Warsaw").sign_in(stack.portal, "nobody", PASSWORD)
    page.goto(f"{stack.portal}/requirements/application/nobody:dd")
    row = page.get_by_role("group", name="Latency at most")
    expect(row).to_contain_text("How long a small read may take.")
    assert row.get_by_label("Unit").locator("option").all_inner_texts() == ["μs", "ms", "s", "min", "h", "d"]
    expect(row.get_by_label("Weight")).to_have_value("2")
    row.get_by_label("At most").fill("1,5")
    expect(page.locator("#ranking")).to_contain_text("Latency")
    row.locator("summary").click()
    expect(row).to_contain_text("Times as clocks show them in Europe/Warsaw")
    row.get_by_label("Valid from").fill("2001-07-01T14:00")
    row.get_by_label("Valid until").fill("2101-01-01T00:00")
    _save(page)
    (stored,) = stack.stored("application", "nobody:dd")["requirements"]
    assert stored == {
        "kind": "latency", "maximum": 1.5, "unit": "ms", "weight": 2.0, "strictness": "soft",
        "valid_from": "2001-07-01T12:00:00Z", "valid_until": "2100-12-31T23:00:00Z",
    }  # fmt: skip
    page.goto(f"{stack.portal}/requirements/applied?application=dd")
    why = page.get_by_role("region", name="Latency")
    expect(why).to_contain_text("at most 1.5\u00a0ms")
    expect(why).to_contain_text("Valid from 2001-07-01 14:00 CEST until 2101-01-01 00:00 CET.")


def test_a_profile_unfolds_as_it_is_chosen(stack: Stack, open_window) -> None:
    page = open_window().sign_in(stack.portal, "nobody", PASSWORD)
    page.goto(f"{stack.portal}/requirements/application/nobody:unfold")
    page.get_by_label("What the programs do").select_option("checkpoint")
    expect(page.locator("#profile-expanded")).to_contain_text("Current write rate ≥ 200\u00a0MB/s")
    expect(page.locator("#kind_current_write_rate-hint")).to_contain_text(
        "Empty: 200\u00a0MB/s from the profile checkpoint."
    )
    expect(page.locator("#ranking")).to_contain_text("of 200\u00a0MB/s")
    page.on("dialog", lambda dialog: dialog.accept())


def test_what_only_the_service_refuses_stands_beside_its_field(stack: Stack, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(stack.portal, "nobody", PASSWORD)
    page.goto(f"{stack.portal}/requirements/user/nobody")
    field = page.get_by_role("group", name="Free capacity").get_by_label("At least")
    page.get_by_label("What the programs do").select_option("scratch")
    field.fill("1e14")
    page.get_by_role("group", name="Free capacity").get_by_label("Unit").select_option("PB")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#kind_free_capacity-bound-error")).to_contain_text("less than or equal to")
    expect(field).to_have_value("1e14")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("What the programs do")).to_have_value("scratch")
    assert stack.revision("user", "nobody") == 0
    window.complaints[:] = [complaint for complaint in window.complaints if "422" not in complaint]


def test_two_administrators_at_once_lose_nothing(stack: Stack, open_window) -> None:
    """The second to save sees both versions; undoing is refused over what came in between."""
    root, boss = open_window(), open_window()
    address = f"{stack.portal}/requirements/vo/materials"
    for window, name in ((root, "root"), (boss, "boss")):
        window.sign_in(stack.portal, name, PASSWORD)
        window.page.goto(address)
    field = "#kind_current_read_rate-bound"
    root.page.fill(field, "11")
    _save(root.page)
    boss.page.fill(field, "22")
    boss.page.get_by_role("button", name="Save", exact=True).click()
    expect(boss.page.get_by_role("alert")).to_contain_text("root saved these requirements")
    expect(boss.page.locator(".versions")).to_contain_text("11\u00a0MB/s")
    expect(boss.page.locator(field)).to_have_value("22")

    root.page.get_by_role("link", name="History").last.click()
    root.page.get_by_role("link", name="Change").first.click()
    root.page.get_by_role("button", name="Undo this change").click()
    expect(root.page.get_by_role("heading", level=1)).to_contain_text("Undo change")

    boss.page.get_by_role("button", name="Save mine instead").click()
    expect(boss.page.get_by_text("Saved. Files created")).to_be_visible()

    root.page.get_by_role("button", name="Undo change").click()
    expect(root.page.get_by_role("alert")).to_contain_text("Changed meanwhile: nothing was undone.")
    (kept,) = stack.stored("vo", "materials")["requirements"]
    assert kept["minimum"] == 22.0
    root.page.get_by_role("alert").get_by_role("link", name="change").first.click()
    expect(root.page.get_by_role("row", name="Current read rate")).to_contain_text("≥ 22\u00a0MB/s")
    root.page.get_by_role("button", name="Undo this change").click()
    root.page.get_by_role("button", name="Undo change").click()
    expect(root.page.get_by_text("is undone, by this one.")).to_be_visible()
    (back,) = stack.stored("vo", "materials")["requirements"]
    assert (back["minimum"], stack.stored("vo", "materials")["modified_by"]) == (11.0, "root")
    for window in (root, boss):
        window.complaints[:] = [complaint for complaint in window.complaints if "409" not in complaint]


def test_everything_works_without_script(stack: Stack, open_window) -> None:
    page = open_window(java_script_enabled=False, viewport={"width": 400, "height": 800}).sign_in(
        stack.portal, "nobody", PASSWORD
    )
    page.goto(f"{stack.portal}/requirements/application/nobody:tar")
    page.get_by_label("What the programs do").select_option("archive")
    row = page.get_by_role("group", name="Current write rate")
    row.get_by_label("At least").fill("3")
    row.locator("summary").click()
    expect(row).to_contain_text("Times as clocks show them in UTC")
    row.get_by_label("Valid until").fill("2001-01-01T10:00")
    page.get_by_role("button", name="Show the ranking").click()
    expect(page.locator("#ranking")).to_contain_text("whose time is over")
    _save(page)
    expect(page.get_by_role("group", name="Current write rate")).to_contain_text("expired")
    expect(page.locator("#profile-expanded")).to_contain_text("500\u00a0GB")
    page.get_by_role("link", name="History").last.click()
    page.get_by_role("link", name="Change").first.click()
    page.get_by_role("button", name="Undo this change").click()
    page.get_by_role("button", name="Undo change").click()
    expect(page.get_by_text("is undone, by this one.")).to_be_visible()
    assert stack.stored("application", "nobody:tar")["requirements"] == []


def test_no_text_of_the_knowledge_base_becomes_markup(stack: Stack, open_window) -> None:
    """Label and definition of a kind and a profile, an application, the site's labels and its file's name."""
    window = open_window()
    page = window.page
    raised: list[str] = []
    page.on("dialog", lambda dialog: (raised.append(dialog.message), dialog.dismiss()))
    window.sign_in(stack.portal, "nobody", PASSWORD)
    page.get_by_label("For one application").fill(BAD)
    page.get_by_role("button", name="Add").click()
    page.get_by_role("heading", level=1, name=BAD).wait_for()
    page.wait_for_load_state()  # its script listens from then on
    page.get_by_label("What the programs do").select_option("mean")
    page.locator("#kind_revision-bound").fill("3")
    expect(page.locator("#profile-expanded")).to_contain_text(BAD)
    _save(page)
    addresses = [page.url, "/requirements", "/requirements/applied", "/history", "/history/1"]
    page.goto(f"{stack.portal}/history")
    link = page.get_by_role("link", name="Change").first.get_attribute("href")
    for address in (*addresses, link, f"{link}/undo"):
        page.goto(address if address.startswith("http") else stack.portal + address)
        expect(page.locator("main")).to_contain_text(
            "onerror" if address != "/requirements/applied" else "What"
        )
        assert page.locator("img[src=x]").count() == 0, address
    page.goto(f"{stack.portal}/requirements/applied")
    page.get_by_label("Application").fill(BAD)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(BAD)
    assert page.locator("img[src=x]").count() == 0
    assert raised == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_added_pages_fit_a_small_screen(stack: Stack, open_window, scheme: str) -> None:
    window = open_window(viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page = window.page
    window.sign_in(stack.portal, "nobody", PASSWORD)
    page.goto(f"{stack.portal}/requirements/application/nobody:small{scheme}")
    page.get_by_label("What the programs do").select_option("checkpoint")
    page.locator("#kind_latency-bound").fill("3")
    _save(page)
    page.goto(f"{stack.portal}/history")
    change = page.get_by_role("link", name="Change").first.get_attribute("href")
    for address in (
        f"/requirements/application/nobody:small{scheme}", f"/requirements/applied?application=small{scheme}",
        "/history", "/history/1", change, f"{change}/undo",
    ):  # fmt: skip
        page.goto(stack.portal + address)
        assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0, address
        assert page.locator("h1").count() == 1, address
