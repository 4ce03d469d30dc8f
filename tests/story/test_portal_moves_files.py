"""The product's promise as one story: what a person saves in the portal moves the next file.

Everything is real: mergerfs over eight branches, node_exporter, monitor, service, agent, preload
library, portal, Chromium, and a dd that nobody changed.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from playwright.sync_api import Browser, Page, expect
from running_site import Site

pytestmark = pytest.mark.root


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    window = chromium.new_page()
    window.set_default_timeout(60_000)
    yield window
    window.close()


def test_a_requirement_saved_in_the_portal_moves_the_next_file(site: Site, page: Page) -> None:
    small = {"b1", "b2"}  # the fastest, and with the least room
    before: list[str] = []

    def are_chosen() -> bool:
        before.append(site.write(f"before-{len(before)}.dat"))
        return small <= set(before[-8:])

    wait_until(are_chosen, lambda: f"the fastest branches are chosen: {before}", every=0.5)

    page.goto(f"{site.chain.portal_url}/sign-in")
    page.get_by_label("User name").fill("root")
    page.get_by_label("Password").fill(site.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", level=1, name="Requirements").wait_for()
    page.goto(f"{site.chain.portal_url}/requirements/application/root:dd")
    # more free space than the two fastest branches have, and no branch with less
    page.locator("#kind_free_capacity-bound").fill("287")
    page.locator("#kind_free_capacity-unit").select_option("MB")
    page.locator("#kind_free_capacity-strictness").select_option("hard")
    ranked = page.locator("#ranking .candidates .element")
    expect(page.locator("#ranking")).not_to_contain_text("union/b1 union/b2")
    expect(ranked.filter(has_text="union/b1")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Files created from now on follow it.")).to_be_visible()
    expect(ranked.first).to_be_visible()
    offered = {text.strip().removeprefix("union/") for text in ranked.all_inner_texts()}
    assert offered
    assert not offered & small

    # the change reaches the node within seconds
    branches: list[str] = []

    def are_avoided() -> bool:
        branches.append(site.write(f"after-{len(branches)}.dat"))
        return len(branches) >= 8 and not set(branches[-8:]) & small

    wait_until(are_avoided, "the change reaches the program", every=0.5)
    assert set(branches[-8:]) <= offered, "the files are where the portal said they would go"


def test_without_any_service_the_same_program_writes_the_same_file(site: Site) -> None:
    site.chain.processes.stop_all()
    path = site.storage.union / "alone.dat"
    subprocess.run(
        ["dd", "if=/dev/zero", f"of={path}", "bs=64k", "count=16", "status=none"],
        check=True, timeout=60, env={"PATH": os.environ["PATH"], **site.chain.preloaded()},
    )  # fmt: skip
    assert path.read_bytes() == bytes(1 << 20)
    copies = [branch for branch in site.storage.branches if (Path(branch.directory) / "alone.dat").exists()]
    assert len(copies) == 1
