"""Pages in headless Chromium: by keyboard, without script, small, and while things fail."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from ses_client.messages.requirements import required
from ses_client.messages.vocabulary import MeasuredRun, Profile, Vocabulary

PASSWORD = "correct horse battery"
PAGES = (
    "/requirements", "/requirements/user/alice", "/requirements/site/default", "/storage",
    "/storage/union/b1", "/files", "/files/summary", "/files/0000000000000001", "/account",
    "/account/tokens", "/requirements/applied", "/profiles", "/profiles/alice:simulate",
    "/runs", "/history", "/history/1", "/history/1/undo", "/help", "/nothing",
)  # fmt: skip
OF_ADMINISTRATORS = (
    "/storage", "/storage/union/b1/change", "/storage/union/b3/change", "/storage/add", "/people", "/health",
    "/people/alice", "/welcome/none", "/runs",
)  # fmt: skip
UNNAMED = """() => [...document.querySelectorAll("input:not([type=hidden]):not([hidden]), select, button, a")]
  .filter(control => !control.labels?.length && !control.ariaLabel && !control.textContent.trim())
  .map(control => control.outerHTML)"""

FOCUSED = """() => {
  const focused = document.activeElement;
  return [focused.id, focused.textContent.trim().replace(/\\s+/g, " ")];
}"""


@pytest.fixture
def full_site(site, make_received):
    """Every kind of thing that can be on a page."""
    site.replace_requirements(
        "user",
        "alice",
        (required("current-write-rate", 50, "MB/s", weight=2, strictness="hard"),),
        revision=0,
    )
    measured = MeasuredRun(read_bytes=2e8, written_bytes=9e7, seconds=9.0, processor_seconds=1.0, cores=2)
    wanted = (required("current-write-rate", 50, "MB/s"),)
    simulate = Profile(
        profile="alice:simulate",
        label="alice:simulate",
        definition="",
        requirements=wanted,
        measured=measured,
        modified_by="alice",
        modified_at=1.7e9,
    )
    site.words = Vocabulary(kinds=site.words.kinds, profiles=(simulate,))
    space = (required("free-capacity", 0.1, "GB"),)
    site.replace_requirements("site", "default", space, profile="alice:simulate", revision=0)
    site.got[site.records[0].placement_id] = make_received(site.records[0])
    site.jobs[site.records[0].placement_id] = "4711"
    mine = site.acting("alice")
    mine.make_token("laptop", "read", 30)
    for number, state in enumerate(("ended", "running")):
        mine.start_run({
            "run_id": str(number) * 16, "files": ["/srv/union/alice/*.log"], "options": ["--memory=1GB"],
            "command": ["egrep", "-c", "x" * 80, "{}"],
        })  # fmt: skip
        site.set_run(
            "alice", state=state, node="login1", began_at=1.8e9, ended_at=1.8e9, tasks=12, tasks_done=5,
            bytes_read=3e6, bytes_returned=9, output=f"/home/alice/{'long/' * 40}1.out", exit_status=number,
            errors="map-near: 12 tasks in 3.50 s " * 9,
        )  # fmt: skip
    return site


def test_every_page_is_sound_for_those_who_do_not_see_it(full_site, served, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(served, "alice", PASSWORD)
    titles = set()
    for path in PAGES:
        page.goto(served + path)
        titles.add(page.title())
        assert page.locator("h1").count() == 1, path
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.evaluate(UNNAMED) == [], path
        ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(named => named.id)")
        assert len(ids) == len(set(ids)), path
        described = page.evaluate(
            "() => [...document.querySelectorAll('[aria-describedby], [aria-labelledby]')].flatMap("
            "marked => [marked.getAttribute('aria-describedby'), marked.getAttribute('aria-labelledby')])"
        )
        wanted = {part for words in described if words for part in words.split()}
        assert wanted <= set(ids), path
        report = Axe().run(page)
        assert report.violations_count == 0, f"{path}: {report.generate_report()}"
    assert len(titles) == len(PAGES), "every page needs a title of its own"
    window.complaints[:] = [complaint for complaint in window.complaints if "404" not in complaint]


def test_pages_of_administrators_are_sound_and_not_cut_off(full_site, served, open_window) -> None:
    window = open_window(viewport={"width": 1360, "height": 800})
    page = window.page
    window.sign_in(served, "root", "may change the site")
    for path in OF_ADMINISTRATORS:
        page.goto(served + path)
        assert page.evaluate(UNNAMED) == [], path
        report = Axe().run(page)
        assert report.violations_count == 0, f"{path}: {report.generate_report()}"
        for width in (1360, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            beyond = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
            assert beyond <= 0, (path, width)
    window.complaints[:] = [complaint for complaint in window.complaints if "404" not in complaint]


def test_ten_thousand_elements_stay_readable(full_site, served, open_window, make_element) -> None:
    full_site.places = [
        make_element(
            f"b{number:05}", 10.0 + number % 90, server=f"oss{number % 250:03}", pool="",
            tier="flash" if number % 250 < 50 else "disk",
        )
        for number in range(10_000)
    ]  # fmt: skip
    page = open_window(viewport={"width": 390, "height": 800}).sign_in(served, "alice", PASSWORD)
    page.goto(f"{served}/storage")
    expect(page.locator(".tile")).to_have_count(250)
    expect(page.get_by_role("region", name="Groups, table").get_by_role("row")).to_have_count(251)
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    page.get_by_role("link", name="by tier").click()
    expect(page.locator(".tile")).to_have_count(2)
    page.get_by_role("link", name="flash", exact=True).click()
    expect(page.locator(".tile")).to_have_count(50)
    page.get_by_role("link", name="oss007", exact=True).click()
    expect(page.locator(".tile")).to_have_count(40)
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    page.get_by_role("link", name="server oss007").click()
    expect(page.locator(".tile")).to_have_count(50)


def test_nothing_is_cut_off(full_site, served, open_window) -> None:
    window = open_window(viewport={"width": 1360, "height": 800})
    window.sign_in(served, "alice", PASSWORD)
    for path in PAGES[:-1]:
        window.page.goto(served + path)
        for width in (1360, 390, 320):
            window.page.set_viewport_size({"width": width, "height": 800})
            beyond = window.page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
            assert beyond <= 0, (path, width)


def test_on_a_phone_the_filters_of_files_leave_room_for_the_files(full_site, served, open_window) -> None:
    window = open_window(viewport={"width": 390, "height": 800})
    page = window.page
    window.sign_in(served, "alice", PASSWORD)
    page.goto(f"{served}/files")
    expect(page.get_by_role("link", name="/union/alice/").first).to_be_in_viewport()
    expect(page.get_by_label("Job")).to_be_hidden()
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Job").fill("4711")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("Filters (1 set)")).to_be_visible()
    expect(page.get_by_label("Job")).to_be_hidden()
    page.goto(f"{served}/files?since=soon")
    expect(page.get_by_label("Ended from")).to_be_visible()
    window.complaints.clear()  # of a time that is none
    page.set_viewport_size({"width": 1360, "height": 800})
    page.goto(f"{served}/files")
    expect(page.get_by_label("Job")).to_be_visible()
    expect(page.get_by_text("Filters", exact=True)).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.get_by_label("Job")).to_be_hidden()


def test_the_keyboard_is_enough(full_site, served, open_window) -> None:
    window = open_window()
    page = window.page
    page.goto(f"{served}/sign-in")
    expect(page.get_by_label("User name")).to_be_focused()  # not at once, on a busy machine
    page.keyboard.type("alice")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Requirements").wait_for()
    page.wait_for_load_state()

    def tab_to(matches: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            expect(focused).not_to_have_css("outline-style", "none")
            expect(focused).to_have_css("outline-width", "3px")
            if matches in page.evaluate(FOCUSED):
                return
        raise AssertionError(f"{matches} cannot be reached by Tab")

    tab_to("Skip to the content")
    page.keyboard.press("Enter")
    tab_to("Edit Your default")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Your default").wait_for()
    page.wait_for_load_state()
    tab_to("kind_current_read_rate-bound")
    page.keyboard.type("80")
    expect(page.locator("#ranking .summary")).to_contain_text("union/b2 ranks first and meets everything")
    expect(page.locator("#ranking")).to_contain_text("of 80")
    tab_to("kind_current_read_rate-strictness")
    page.keyboard.type("refuse")
    tab_to("Save")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_have_text("Saved. Files created from now on follow it.")
    saved = full_site.requirement_set("user", "alice").requirements
    assert required("current-read-rate", 80.0, "MB/s", weight=1.0, strictness="hard") in saved


def test_everything_works_without_script(full_site, served, open_window) -> None:
    page = open_window(java_script_enabled=False).sign_in(served, "alice", PASSWORD)
    page.get_by_label("For one application").fill("tar")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("At least").nth(0).fill("95")
    page.get_by_role("button", name="Show the ranking").click()
    expect(page.locator("#ranking .summary")).to_contain_text("union/b2 ranks first: current read rate")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{served}/files")
    page.get_by_label("Verdict").select_option("missed")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="Summary").click()
    page.get_by_role("link", name="4711").click()
    page.get_by_role("link", name="1.bin").click()
    expect(page.get_by_text("Others came: from 1 to 9 streams.")).to_be_visible()
    page.goto(f"{served}/storage")
    page.get_by_role("link", name="Free space").click()
    expect(page.locator(".tile .number").first).to_have_text("200\u00a0MB")


def test_the_ranking_follows_typing_once_it_rests(full_site, served, open_window) -> None:
    page = open_window().sign_in(served, "alice", PASSWORD)
    page.clock.install(time=0)
    page.goto(f"{served}/requirements/application/alice:dd")
    page.clock.pause_at(3600)  # the keys follow each other at once, however busy the machine
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    page.get_by_label("At least").nth(0).press_sequentially("12345")
    assert asked == []
    page.clock.run_for(5_000)
    page.clock.resume()
    expect(page.locator("#ranking")).to_contain_text("of 12\u202f345\u00a0MB/s")
    assert len(asked) == 1, "not one question per key"
    assert all(url.endswith("/preview") for url in asked)
    assert full_site.requirement_set("application", "alice:dd").revision == 0
    page.on("dialog", lambda dialog: dialog.accept())


def test_a_failing_service_keeps_what_is_typed_and_recovers(full_site, served, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(served, "alice", PASSWORD)
    page.goto(f"{served}/requirements/user/alice")
    field = page.get_by_label("At least").nth(0)
    full_site.down = "The selection service cannot be reached."
    field.fill("33")
    expect(page.locator("#ranking")).to_contain_text(
        "No ranking at the moment. The selection service cannot be reached."
    )
    expect(field).to_have_value("33")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Not saved:")).to_be_visible()
    field = page.get_by_label("At least").nth(0)
    expect(field).to_have_value("33")
    full_site.down = None
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert full_site.requirement_set("user", "alice").requirements[0].bound == 33
    window.complaints[:] = [complaint for complaint in window.complaints if "503" not in complaint]


def test_the_map_keeps_itself_fresh_until_told_not_to(full_site, served, open_window, make_element) -> None:
    page = open_window().sign_in(served, "alice", PASSWORD)
    page.clock.install()
    page.goto(f"{served}/storage")
    expect(page.locator(".tile .number").first).to_have_text("40\u00a0MB/s")
    full_site.places[0] = make_element("b1", 12.0)
    page.clock.run_for(5_500)
    expect(page.locator(".tile .number").first).to_have_text("12\u00a0MB/s")
    page.get_by_label("Update every 5 s").uncheck()
    full_site.places[0] = make_element("b1", 77.0)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(20_000)
    assert asked == []
    expect(page.locator(".tile .number").first).to_have_text("12\u00a0MB/s")


def test_a_page_prints_whole_and_without_what_is_only_pressed(full_site, served, open_window) -> None:
    window = open_window(viewport={"width": 794, "height": 1123}, color_scheme="dark")  # A4
    page = window.page
    window.sign_in(served, "alice", PASSWORD)
    page.emulate_media(media="print")
    for path in ("/files", "/files/summary", "/requirements", "/requirements/user/alice", "/storage"):
        page.goto(served + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for pressed in ("nav[aria-label=Main]", ".filters", ".toolbar", ".actions", ".pages", "form.inline"):
            for part in page.locator(pressed).all():
                expect(part).to_be_hidden()
        beyond = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        assert beyond <= 0, path
        paper = page.evaluate("() => getComputedStyle(document.querySelector('.card')).backgroundColor")
        assert paper == "rgb(255, 255, 255)", path
