"""A machine of its own for what pages tell people to do: what they install and start is gone with it.

It is made of namespaces: an empty /run and /var/lib, copies of /etc, /root, /usr/local and the checkout, two
disks below /srv, a name, and no network but its own loopback.  systemctl is a fake (systemctl.py).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from mounts import let_others_in
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
#: Where the commands of the checkout are, without installing any.
CHECKOUT = (
    str(Path(sys.executable).parent),
    *(str(ROOT / "build/libses" / part) for part in ("run", "agent", "copy")),
)
PATIENCE = 850.0

# The package manager's notes stay, for what asks whether a package is there.
_MAKE = r"""
set -euo pipefail
ip link set lo up
hostname store1
mount --make-rprivate /
mkdir "$WORK/srv" "$WORK/bin" "$WORK/layers" "$WORK/dpkg"
mount --bind /var/lib/dpkg "$WORK/dpkg"
for folder in run var/lib var/backups var/cache; do mount -t tmpfs -o mode=755 tmpfs "/$folder"; done
mkdir /var/lib/dpkg
mount --move "$WORK/dpkg" /var/lib/dpkg
mount -t tmpfs -o mode=755 tmpfs "$WORK/layers"
number=0
for folder in /etc /root /usr/local "$ROOT"; do
  layer="$WORK/layers/$((number += 1))"
  mkdir -p "$layer/above" "$layer/work"
  mount -t overlay -o "lowerdir=$folder,upperdir=$layer/above,workdir=$layer/work" overlay "$folder"
done
chmod a+x /root # the interpreter may lie there
echo "127.0.0.1 store1 localhost" >/etc/hosts
systemd-sysusers "$SES_UNITS/qstorman.sysusers"
mount --bind "$WORK/srv" /srv
for disk in disk1 disk2; do
  mkdir "/srv/$disk"
  truncate -s "$DISK_SIZE" "$WORK/$disk.img"
  mkfs.ext4 -q -m 0 -T largefile4 "$WORK/$disk.img"
  mount -o loop "$WORK/$disk.img" "/srv/$disk"
done
ln -s "$SYSTEMCTL" "$WORK/bin/systemctl"
cd "$ROOT"
echo made
cat >/dev/null
"""
_LOGS = 'for log in /run/units/*.log; do echo "== $log"; tail -n 15 "$log"; done >&2'
# What is right only after a moment: an agent has to hear of the site, a file to be announced.
_PATIENT = """
until_well() {
  for _ in $(seq 120); do
    if said=$("$@" 2>&1); then echo "$said"; return; fi
    sleep 1
  done
  echo "$said"
  return 1
}
"""


@dataclass(frozen=True)
class Machine:
    """A machine that is up."""

    inside: int
    work: Path

    def run(
        self, script: str, *, user: str = "root", directory: Path = ROOT, commands: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of bash as a user, with further folders of commands; it ends at what fails.

        `until_well COMMAND` in it tries a command until it succeeds, for two minutes.
        """
        identity = [] if user == "root" else [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return ran(
            ["nsenter", f"--target={self.inside}", "--mount", "--net", "--uts", "--ipc", "--pid",
             "setpriv", *identity, "bash", "-c",
             f"set -euo pipefail\ncd '{directory}'\n{_PATIENT}trap '{_LOGS}' ERR\nset -x\n{script}"],
            code=None, env=self._environment(user, commands),
        )  # fmt: skip

    def home(self, user: str) -> Path:
        """The home of a user; root's is there, that of others for them to make."""
        return self.work / "home" / user

    def _environment(self, user: str, commands: tuple[str, ...]) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(self.work / "bin"), *commands, *SYSTEM]),
            "LANG": "C.UTF-8", "HOME": str(self.home(user)), "USER": user, "LOGNAME": user,
            "SES_UNITS": str(ROOT / "packaging/systemd"), "SES_SYNC_MS": "20000",
            "PASSWORD": "a long one, not guessed",
        }  # fmt: skip


@contextmanager
def machine(work: Path, disk_size: str) -> Iterator[Machine]:
    """A machine whose files are below ``work``, with two disks of this size (sparse)."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a machine of its own is made of namespaces")
    let_others_in(work)
    (work / "home/root").mkdir(parents=True)
    with (work / "made.log").open("wb") as said, subprocess.Popen(
        ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
         "bash", "-c", _MAKE],
        env={
            **os.environ, "ROOT": str(ROOT), "WORK": str(work), "DISK_SIZE": disk_size,
            "SES_UNITS": str(ROOT / "packaging/systemd"),
            "SYSTEMCTL": str(Path(__file__).with_name("systemctl.py")),
        },
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
    ) as outside:  # fmt: skip
        assert outside.stdout
        assert outside.stdin
        made = outside.stdout.readline()
        assert made == b"made\n", (work / "made.log").read_text()
        inside = int(Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text())
        try:
            yield Machine(inside, work)
        finally:
            outside.stdin.close()
    shutil.rmtree(work, ignore_errors=True)  # gigabytes, that no failed test needs
