"""A real sshd on loopback, as the user who runs the tests."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ports import free_port

SSHD = Path("/usr/sbin/sshd")


@dataclass(frozen=True)
class Sshd:
    """``rsh``: the ssh command that reaches it under any name of a node."""

    rsh: tuple[str, ...]
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if not SSHD.exists():
        pytest.fail("Debian's openssh-server is not installed: packaging/install.sh test")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd separates privileges
    port = free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nPermitRootLogin prohibit-password\n"
        "PasswordAuthentication no\nMaxStartups 100\n"
    )
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=subprocess.DEVNULL)
    (folder / "config").write_text(
        f"Host *\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {folder}/key\n  IdentitiesOnly yes\n"
        f"  StrictHostKeyChecking accept-new\n  UserKnownHostsFile {folder}/known\n  ConnectionAttempts 20\n"
    )
    yield Sshd(("ssh", "-F", str(folder / "config")), process)
    process.terminate()
    process.wait(30)
