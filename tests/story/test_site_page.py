"""Every command of docs/site.md, from the page itself, on a machine of its own: a site stands at the end."""

import re
import shlex
from pathlib import Path

import pytest
from own_machine import CHECKOUT, ROOT, machine
from pages import patient, shell

PAGE = ROOT / "docs/site.md"


@pytest.mark.root
def test_the_page_makes_a_site(tmp_path: Path) -> None:
    with machine(tmp_path, "8G") as own:  # sparse; mergerfs keeps 4 GiB free by itself
        done = own.run(patient("".join(shell(PAGE))), commands=CHECKOUT)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-12000:]
        assert "Every link holds." in done.stdout
        placed = own.run("ls /srv/disk?/first").stdout
        asked = "curl -sS --unix-socket /run/qstorman/service.sock -H 'X-Acting-User: alice' http://localhost"
        portal = own.run(f"{asked}/v1/tokens; {asked}/v1/knowledge/site", user="qstorman-portal").stdout
        users = own.run("cd /run/units; ps -o user:32= -p $(paste -sd, s*.pid)").stdout.split()
    assert '"user":"alice"' in portal.replace(" ", "")
    assert "Role portal may not do this" in portal, "it is no administrator"
    assert set(users) >= {"qstorman", "qstorman-monitor", "qstorman-portal"}
    assert re.fullmatch(r"/srv/disk[12]/first\n", placed)


def test_every_command_in_its_sentences_is_one_with_these_options() -> None:
    """Those for other storage and other parts, which no test can run here, are at least spelled right."""
    pages = "\n".join(page.read_text() for page in (ROOT / "docs/commands").glob("*.md"))
    text = re.sub(r"^```.*?^```", "", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = {
        word
        for quoted in re.findall(r"`([^`]+)`", text)
        for word in shlex.split(quoted)
        if word.startswith("--")
    }
    assert len(named) > 5
    unknown = {option for option in named if f"`{option}`" not in pages} - {"--owner"}  # of createdb
    assert not unknown
