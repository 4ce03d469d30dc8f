"""Every command of docs/site.md, from the page itself, on a machine of its own: a site stands at the end."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/site.md"
PROGRAMS = [Path(sys.executable).parent, *(ROOT / "build/libses" / one for one in ("run", "agent", "copy"))]
# Two disks, an empty /run and /var/lib, an /etc that is a copy, no network but its own loopback.
MACHINE = """
ip link set lo up
hostname store1
mount --make-rprivate /
for one in run var/lib var/backups; do mount -t tmpfs -o mode=755 tmpfs "/$one"; done
mkdir "$WORK/etc" "$WORK/srv" "$WORK/bin"
mount -t tmpfs -o mode=755 tmpfs "$WORK/etc"
cp -a /etc/. "$WORK/etc"
mount --bind "$WORK/etc" /etc
echo "127.0.0.1 store1 localhost" >/etc/hosts
systemd-sysusers "$SES_UNITS/qstorman.sysusers"
mount --bind "$WORK/srv" /srv
for disk in disk1 disk2; do
  mkdir "/srv/$disk"
  truncate -s 96M "$WORK/$disk.img"
  mkfs.ext4 -q -m 0 "$WORK/$disk.img"
  mount -o loop "$WORK/$disk.img" "/srv/$disk"
done
ln -s "$SYSTEMCTL" "$WORK/bin/systemctl"
export PATH="$WORK/bin:$PATH"
"""
AT_THE_END = 'for log in /run/units/*.log; do echo "== $log"; tail -n 15 "$log"; done >&2'
# What is right only after a moment: an agent has to hear of the site, a file to be announced.
PATIENT = """
until_well() {
  for _ in $(seq 120); do
    if "$@" >/run/said 2>&1; then cat /run/said; return; fi
    sleep 1
  done
  cat /run/said
  return 1
}
"""


def blocks() -> list[str]:
    """Return the commands of the page, block by block."""
    found = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) > 8
    return found


def script() -> str:
    """Return the commands with those repeated that ask whether all is well."""
    asked = re.sub(r"^(ses (?:doctor|explain|status)|smed-monitor check)\b", r"until_well \1",
                   "\n".join(blocks()), flags=re.MULTILINE)  # fmt: skip
    return f"set -euo pipefail\n{MACHINE}{PATIENT}trap '{AT_THE_END}' ERR\nset -x\n{asked}\nset +x\n"


@pytest.mark.root
def test_the_page_makes_a_site(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: a machine of its own is made of namespaces")
    for parent in (tmp_path, *tmp_path.parents[:-2]):  # the service's user must get through
        parent.chmod(parent.stat().st_mode | 0o011)
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
         "bash", "-c", script() + 'ls /srv/disk1/first /srv/disk2/first 2>/dev/null || true'],
        cwd=ROOT,
        env={
            "PATH": os.pathsep.join([*map(str, PROGRAMS), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]),
            "LANG": "C.UTF-8", "HOME": str(tmp_path), "WORK": str(tmp_path),
            "PASSWORD": "a long one, not guessed",
            "SES_UNITS": str(ROOT / "packaging/systemd"),
            "SYSTEMCTL": str(Path(__file__).with_name("systemctl.py")), "SES_SYNC_MS": "20000",
        },
        capture_output=True, text=True, timeout=850, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-12000:]
    assert "Every link holds." in done.stdout
    assert len(re.findall(r"^/srv/disk[12]/first$", done.stdout, re.MULTILINE)) == 1


def test_every_command_in_its_sentences_is_one_with_these_options() -> None:
    """Those for other storage and other parts, which no test can run here, are at least spelled right."""
    pages = "\n".join(page.read_text() for page in (ROOT / "docs/commands").glob("*.md"))
    text = re.sub(r"^```.*?^```", "", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    named = {
        word for one in re.findall(r"`([^`]+)`", text) for word in shlex.split(one) if word.startswith("--")
    }
    assert len(named) > 5
    unknown = {one for one in named if f"`{one}`" not in pages} - {"--owner"}  # of createdb
    assert not unknown
