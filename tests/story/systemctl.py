#!/usr/bin/env python3
"""Stands in for systemctl where no systemd runs: starts what a unit of packaging/systemd says, as its user.

usage: systemctl enable [--now] UNIT... | start UNIT... | restart UNIT... | stop UNIT...
       systemctl show UNIT | is-enabled UNIT

SES_UNITS names the folder of the units.

Knows what our units use: Environment, EnvironmentFile, ExecStart, User, StateDirectory, RuntimeDirectory and
Type=notify, for which it waits.  Does not know the sandbox of a unit.
"""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 300.0
RUN = Path("/run/units")


def settings_of(unit: str) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for line in (Path(os.environ["SES_UNITS"]) / f"{unit}.service").read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            settings.setdefault(key, []).append(value)
    return settings


def environment(settings: dict[str, list[str]]) -> dict[str, str]:
    said = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    lines = [setting.strip('"') for setting in settings.get("Environment", [])]
    for file in settings.get("EnvironmentFile", []):
        path = Path(file.removeprefix("-"))
        if path.exists() or not file.startswith("-"):
            lines += [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    for line in lines:
        name, _, value = line.partition("=")
        said[name] = value.strip('"')
    return said


def program(settings: dict[str, list[str]], variables: dict[str, str]) -> list[str]:
    words: list[str] = []
    for word in settings["ExecStart"][0].split():
        words += variables.get(word[1:], "").split() if re.fullmatch(r"\$[A-Z_]+", word) else [word]
    path = words[0] if Path(words[0]).exists() else shutil.which(Path(words[0]).name)
    assert path, f"{words[0]} does not exist"
    return [path, *words[1:]]


def as_user(user: pwd.struct_passwd, command: list[str]) -> list[str]:
    """Return the command as run by a user, who may pass closed folders above Python where there are any."""
    if user.pw_uid == 0:
        return command
    python = Path(sys.prefix, "bin/python").resolve() if sys.prefix != "/usr" else Path("/usr/bin/python3")
    closed = any(not parent.stat().st_mode & 0o001 for parent in python.parents)
    rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"] if closed else []
    identity = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups"]
    return ["setpriv", *identity, *rights, "--", *command]


def start(unit: str) -> None:
    settings = settings_of(unit)
    user = pwd.getpwnam(settings.get("User", ["root"])[0])
    for key, base in (("StateDirectory", Path("/var/lib")), ("RuntimeDirectory", Path("/run"))):
        for name in settings.get(key, []):
            (base / name).mkdir(parents=True, exist_ok=True)
            os.chown(base / name, user.pw_uid, user.pw_gid)
    variables = environment(settings)
    RUN.mkdir(exist_ok=True)
    notified = RUN / f"{unit}.notify"
    notified.unlink(missing_ok=True)
    ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ears.bind(str(notified))
    notified.chmod(0o666)
    ears.settimeout(1.0)
    waits = settings.get("Type") == ["notify"]
    own = {**variables, "NOTIFY_SOCKET": str(notified)} if waits else variables
    with (RUN / f"{unit}.log").open("ab") as log:
        process = subprocess.Popen(
            as_user(user, program(settings, variables)), env=own, cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    (RUN / f"{unit}.pid").write_text(str(process.pid))
    end = time.monotonic() + PATIENCE
    while waits:
        if process.poll() is not None or time.monotonic() > end:
            sys.exit(f"{unit} does not start: {(RUN / f'{unit}.log').read_text()}")
        try:
            if b"READY=1" in ears.recv(4096):
                return
        except TimeoutError:
            continue


def is_running(unit: str) -> bool:
    try:
        pid = int((RUN / f"{unit}.pid").read_text())
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def stop(unit: str) -> None:
    os.kill(int((RUN / f"{unit}.pid").read_text()), signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while is_running(unit):
        assert time.monotonic() < end, f"{unit} does not stop"
        time.sleep(0.05)


def show(unit: str) -> None:
    is_there = (Path(os.environ["SES_UNITS"]) / f"{unit}.service").exists()
    print(f"LoadState={'loaded' if is_there else 'not-found'}")
    print(f"ActiveState={'active' if is_running(unit) else 'inactive'}")


def tell_enabled(unit: str) -> None:
    if not (RUN / f"{unit}.enabled").exists():
        print("disabled")
        sys.exit(1)
    print("enabled")


def enable(unit: str) -> None:
    RUN.mkdir(exist_ok=True)
    (RUN / f"{unit}.enabled").touch()


def restart(unit: str) -> None:
    if is_running(unit):
        stop(unit)
    start(unit)


def main() -> None:
    verb, *units = [word for word in sys.argv[1:] if not word.startswith("-")]
    does = {"enable": enable, "start": start, "restart": restart, "stop": stop, "show": show,
            "is-enabled": tell_enabled}[verb]  # fmt: skip
    for unit in units:
        does(unit)
        if verb == "enable" and "--now" in sys.argv:
            start(unit)


if __name__ == "__main__":
    main()
