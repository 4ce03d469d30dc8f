"""A sentence about a program fills the form of requirements; nothing is saved until somebody saves it."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from ses_client.messages.requirements import required
from ses_webface.requirements.sentences import UnreadableValuesError, read_values

CHECKPOINT = "checkpoint of 4 TB every 30 min by 512 ranks"
PAGE = "/requirements/application/alice:dd"
WRITE, SPACE, READ = "kind_current_write_rate", "kind_free_capacity", "kind_average_read_rate"


def _expanded(visitor, sentence: str, values: str = "", **typed: str):
    fields = {"revision": "0", "action": "expand", "sentence": sentence, "sentence_values": values, **typed}
    answer = visitor.post(PAGE, fields)
    return answer.status_code, answer.text


def _bound(text: str, field: str) -> tuple[str, str]:
    """Return the number and the unit that a row of the form shows."""
    row = text.partition(f'<fieldset class="row" id="{field}">')[2].partition("</fieldset>")[0]
    number = re.search(rf'name="{field}-bound" value="([^"]*)"', row)
    unit = re.search(r"<option selected>([^<]*)", row)
    assert number, row
    assert unit, row
    return number[1], unit[1]


def test_a_sentence_fills_the_form_with_the_arithmetic_and_saves_nothing(alice, site) -> None:
    status, text = _expanded(alice, f"  {CHECKPOINT}\r\n", "share = 10 %; Kept=3")
    assert status == 200
    assert _bound(text, WRITE) == ("43.41", "MB/s"), "4 TB / 512 / 180 s, and no less"
    assert _bound(text, SPACE) == ("23.44", "GB")
    assert _bound(text, READ) == ("", "MB/s")
    for words in ("4 TB / 512 / (30 min * 10 %)", "3 * 4 TB / 512", "at least 43.41\u00a0MB/s"):
        assert words in text
    assert CHECKPOINT in text, "the sentence stays, to be changed"
    assert 'role="status" tabindex="-1" data-focus' in text
    assert "of 43.4\u00a0MB/s" in text, "the ranking is that of the form"
    assert site.requirement_set("application", "alice:dd").revision == 0


def test_what_else_is_typed_stays(alice, site) -> None:
    typed = {f"{READ}-bound": "7", f"{READ}-unit": "GB/s", f"{WRITE}-bound": "1", f"{WRITE}-unit": "GB/s"}
    typed |= {f"{WRITE}-strictness": "hard", f"{WRITE}-weight": "2", "revision": "4"}
    _status, text = _expanded(alice, "record 200 MB/s for 6 h", **typed)
    assert _bound(text, READ) == ("7", "GB/s")
    assert _bound(text, WRITE) == ("250", "MB/s")
    row = text.partition(f'id="{WRITE}"')[2].partition("</fieldset>")[0]
    assert '<option value="hard" selected>' in row
    assert f'name="{WRITE}-weight" value="2"' in row
    assert 'name="revision" value="4"' in text


@pytest.mark.parametrize(
    ("sentence", "values", "field", "says"),
    [
        ("", "", "sentence", "Write what the program does"),
        ("x" * 257, "", "sentence", "at most 256 characters"),
        ("bell\x07", "", "sentence", "at most 256 characters"),
        ("do something", "", "sentence", "Say it like one of: align 96 samples"),
        ("record 200 MB for 6 h", "", "sentence", "rate takes one of"),
        (CHECKPOINT, "share", "sentence_values", "“share” is not written like share = 10 %."),
        (CHECKPOINT, "share = much", "sentence_values", "is no quantity for share"),
        (CHECKPOINT, "colour = 1", "sentence_values", "has no parameter colour"),
    ],
)
def test_what_cannot_be_understood_is_reported_at_its_field(
    alice, sentence: str, values: str, field: str, says: str
) -> None:
    status, text = _expanded(alice, sentence, values, **{f"{WRITE}-bound": "5", f"{WRITE}-unit": "GB/s"})
    assert status == 422
    at = text.partition(f'id="{field}-error">')[2].partition("</span>")[0]
    assert says in at.replace("&#39;", "'")
    assert re.search(rf'id="{field}"[^>]*aria-invalid="true" aria-describedby="{field}-error ', text)
    assert f'<a href="#{field}">' in text
    assert _bound(text, WRITE) == ("5", "GB/s"), "no row is changed"


def test_a_sentence_is_text_and_nothing_else(alice) -> None:
    _status, text = _expanded(alice, "</textarea><script>alert(1)</script>")
    assert "<script>alert" not in text


def test_the_service_being_away_keeps_the_sentence(alice, site) -> None:
    token = alice.token(PAGE)
    site.down = "The selection service cannot be reached."
    fields = {"csrf_token": token, "action": "expand", "sentence": CHECKPOINT}
    answer = alice.client.post(PAGE, data=fields)
    text = answer.text
    assert answer.status_code == 503
    assert "Not worked out: The selection service cannot be reached." in text
    assert CHECKPOINT in text.partition("<textarea")[2].partition("</textarea>")[0]


def test_who_may_not_edit_a_set_gets_no_sentence(alice) -> None:
    assert "Sentence about the program" in alice.get(PAGE).text
    assert 'id="sentence"' not in alice.get("/requirements/site/default").text
    fields = {"action": "expand", "sentence": CHECKPOINT}
    assert alice.post("/requirements/site/default", fields, page="/account").status_code == 403


def test_values_are_read_as_people_write_them() -> None:
    assert read_values(" share = 10 % ;kept=3;\r\n image=150 kB;") == {
        "share": "10 %", "kept": "3", "image": "150 kB",
    }  # fmt: skip
    assert read_values(" ; ") == {}
    for wrong in ("=3", "share", "share=", "two words = 3", "a=\x07"):
        with pytest.raises(UnreadableValuesError):
            read_values(wrong)


def test_a_sentence_becomes_a_saved_requirement_in_a_browser(site, served, open_window) -> None:
    window = open_window(viewport={"width": 1360, "height": 800})
    page = window.page
    window.sign_in(served, "alice", "correct horse battery")
    page.goto(served + PAGE)
    page.get_by_role("button", name=f"Take it {CHECKPOINT}").click()
    expect(page.get_by_label("Sentence about the program")).to_have_value(CHECKPOINT)
    page.get_by_text("Other than usual values").click()
    page.get_by_label("Values the sentence does not name").fill("share = 10 %")
    page.get_by_role("button", name="Work out the numbers").click()
    expansion = page.locator(".expansion")
    expect(expansion).to_be_focused()
    expect(expansion).to_contain_text("4 TB / 512 / (30 min * 10 %)")
    expect(page.locator("#ranking")).to_contain_text("of 43.4\u00a0MB/s")
    assert Axe().run(page).violations_count == 0
    for width in (1360, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0, width
    assert site.requirement_set("application", "alice:dd").revision == 0
    page.locator(f"#{SPACE}-bound").press("Enter")  # saves, although another button comes first on the page
    expect(page.get_by_text("Saved. Files created from now on follow it.")).to_be_visible()
    saved = site.requirement_set("application", "alice:dd").requirements
    assert required("current-write-rate", 43.41, "MB/s", weight=1.0) in saved
