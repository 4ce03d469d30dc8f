"""Two people in a browser: one who was never here, and one who writes programs.  With the real service."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from portal_stack import PASSWORD, SITE, Stack, running_stack
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
PHONE = {"width": 390, "height": 844}
OWN = "a password of my own"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    base = tmp_path_factory.mktemp("people")
    site = base / "site.ttl"
    site.write_text(SITE.read_text().replace("/srv/qstorman", str(base)))
    with running_stack(base, site, accounts={"root": True, "dev": False}) as running:
        yield running


def sound(page: Page) -> None:
    """Readable for those who do not see it, and nothing cut off."""
    report = Axe().run(page)
    assert report.violations_count == 0, f"{page.url}: {report.generate_report()}"
    beyond = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert beyond <= 0, page.url


@pytest.mark.parametrize(("name", "viewport"), [("dora", None), ("tim", PHONE)])
def test_a_newcomer_gets_from_a_link_to_where_a_file_went(
    stack: Stack, open_window: Callable[..., Any], name: str, viewport: dict[str, int] | None
) -> None:
    administrator = open_window()
    administrator.sign_in(stack.portal, "root", PASSWORD)
    administrator.page.goto(f"{stack.portal}/people")
    administrator.page.get_by_label("User name").fill(name)
    administrator.page.get_by_role("button", name="Add the account").click()
    link = administrator.page.locator("pre code").inner_text()

    page = open_window(**({} if viewport is None else {"viewport": viewport})).page
    page.goto(link)
    sound(page)
    page.get_by_label("Password", exact=True).fill(OWN)
    page.get_by_label("again").fill(OWN)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("status")).to_contain_text(f"Welcome, {name}.")
    expect(page.get_by_role("heading", level=1, name="Requirements")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Nothing is asked for: files go where")
    sound(page)

    page.get_by_role("button", name="Edit Your default").click()
    page.get_by_role("heading", level=1, name="Your default").wait_for()
    page.wait_for_load_state()  # its script listens from then on
    bound = page.locator("#kind_current_write_rate-bound")
    bound.fill("0.05 GB/s")
    expect(page.locator("#ranking .summary")).to_contain_text("ranks first and meets everything")
    bound.fill("0.05 parsec")
    expect(page.locator("#kind_current_write_rate-understood")).to_contain_text("is no unit of this")
    expect(page.locator("#ranking .good")).to_have_count(0)
    bound.fill("0.05 GB/s")
    expect(page.locator("#kind_current_write_rate-understood")).not_to_contain_text("is no unit")
    sound(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").first).to_have_text("Saved. Files created from now on follow it.")
    page.get_by_role("link", name="Requirements", exact=True).first.click()
    expect(page.get_by_role("row", name="Current write rate")).to_contain_text("0.05\u00a0GB/s")

    page.get_by_role("link", name="My files", exact=True).click()
    expect(page.locator("main")).to_contain_text("No file")
    sound(page)
    made = stack.placement("dd", user=name)
    page.reload()
    page.get_by_role("link", name="dd.out").click()
    expect(page.locator("main .lead")).to_contain_text(made["element"])
    expect(page.locator("main")).to_contain_text("your default")
    expect(page.locator("main")).to_contain_text("90\u00a0MB/s of 50\u00a0MB/s")
    sound(page)


def test_a_developer_takes_a_token_and_lines_that_run_and_asks_why(
    stack: Stack, open_window: Callable[..., Any], tmp_path: Path
) -> None:
    page = open_window().page
    page.goto(f"{stack.portal}/sign-in")
    page.get_by_label("User name").fill("dev")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name="Your account").click()
    page.get_by_role("link", name="tokens").click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Make token").click()
    secret = page.get_by_role("status").locator("pre code").first.inner_text()
    sound(page)
    page.goto(f"{stack.portal}/account/tokens")
    expect(page.get_by_role("row", name="laptop")).to_be_visible()
    assert secret not in page.content()

    page.goto(f"{stack.portal}/requirements/application/dev:solver")
    page.get_by_label("At least").nth(2).fill("40 MB/s")
    page.locator("#kind_current_write_rate-strictness").select_option("hard")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{stack.portal}/requirements/application/dev:solver")
    use = page.locator("section").filter(has=page.get_by_role("heading", name="Use it in a job"))
    expect(use.get_by_role("heading", level=3)).to_have_text(["Shell", "Slurm", "C++", "Python"])
    shell, slurm, cpp, python = use.locator("pre code").all_inner_texts()
    assert re.search(r"current-write-rate>=40MB/s!", shell)
    assert re.search(r"^#SBATCH --storage='current-write-rate>=40MB/s!'$", slurm)
    _runs_as_cpp(cpp, tmp_path)
    _runs_as_python(python, tmp_path)
    sound(page)

    made = stack.placement("solver", user="dev")
    page.get_by_role("link", name="My files", exact=True).click()
    page.get_by_role("link", name="solver.out").click()
    expect(page.get_by_role("heading", name="How the places ranked")).to_be_visible()
    sound(page)
    explained = _ses(stack, secret, tmp_path, "explain", "/data/solver.out")
    assert made["element"] in explained
    listed = _ses(stack, secret, tmp_path, "files", "--user", "dev", "--json")
    assert "solver.out" in listed


def _runs_as_cpp(lines: str, folder: Path) -> None:
    source, program = folder / "program.cpp", folder / "program"
    source.write_text(lines + "\nint main() { return create() < 0; }\n")
    built = ROOT / "build/libses"
    command = ["c++", "-std=c++17", f"-I{ROOT / 'libses/include'}", str(source), "-o", str(program)]
    command += [f"-L{built}", "-l:libses.so.0", f"-Wl,-rpath,{built}"]
    for step in (command, [str(program)]):
        ran(step, cwd=folder)
    assert (folder / "results.dat").exists()
    (folder / "results.dat").unlink()


def _runs_as_python(lines: str, folder: Path) -> None:
    environment = {"SES_LIBRARY": str(ROOT / "build/libses/libses.so.0"), "PATH": "/usr/bin:/bin"}
    ran([sys.executable, "-c", lines], cwd=folder, env=environment)
    assert (folder / "results.dat").read_text() == "..."


def _ses(stack: Stack, token: str, folder: Path, *words: str) -> str:
    file = folder / "token"
    file.touch(0o600)
    file.write_text(token + "\n")
    command = [sys.executable, "-c", "from ses.cli import main; main()", *words]
    said = ran(
        [*command, "--url", stack.service, "--token-file", str(file)], env={**os.environ, "HOME": str(folder)}
    )
    return said.stdout
