"""A Docker engine of one's own for one test: started, filled with images, ended.

Nothing outside the work directory is touched but the network it is started in (network_namespace.py gives
it one), and an engine that runs already is left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Debian's client and engine, which fit together; another client in the PATH may lack the builder.
DOCKER = "/usr/bin/docker"
DOCKERD = "/usr/sbin/dockerd"
BASE = "debian:bookworm-slim"
IMAGES = ("ses-service", "smed-monitor", "webface", "fuseki", "postgres", "node-exporter", "prometheus")


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"compose-test: {text}", flush=True)


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command; on failure raise an error that ends with what it printed."""
    words = [str(word) for word in command]
    done: subprocess.CompletedProcess[str] = subprocess.run(  # type: ignore[call-overload]
        words, text=True, capture_output=True, **options
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise RuntimeError(f"{' '.join(words)}\nexit status {done.returncode}\n{tail}")
    return done


@contextlib.contextmanager
def engine(work: Path) -> Iterator[dict[str, str]]:
    """Start dockerd with its data and socket below ``work``; yield the environment that reaches it."""
    socket = work / "docker.sock"
    log = (work / "dockerd.log").open("w")
    daemon = subprocess.Popen(
        [DOCKERD, "--data-root", work / "data", "--exec-root", work / "exec", "--pidfile",
         work / "dockerd.pid", "--host", f"unix://{socket}", "--storage-driver=overlay2",
         "--default-ulimit", "nofile=1024:1024"],
        stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    environment = {**os.environ, "DOCKER_HOST": f"unix://{socket}", "DOCKER_BUILDKIT": "1"}
    try:
        deadline = time.monotonic() + 60
        while subprocess.run([DOCKER, "info"], env=environment, capture_output=True).returncode != 0:
            if daemon.poll() is not None or time.monotonic() > deadline:
                tail = "\n".join((work / "dockerd.log").read_text().splitlines()[-10:])
                raise RuntimeError(f"the Docker engine did not start:\n{tail}")
            time.sleep(0.5)
        yield environment
    finally:
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(60)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        log.close()
        for namespace in (work / "exec").rglob("netns/*"):
            subprocess.run(["umount", namespace], capture_output=True)
        groups = [path for path in Path("/sys/fs/cgroup").glob("*/docker/**") if path.is_dir()]
        for group in sorted(groups, reverse=True):  # those inside first
            with contextlib.suppress(OSError):  # another engine's containers are in it
                group.rmdir()


def debian_mirror() -> str:
    """Return the address this machine's apt takes Debian 12 from."""
    out = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Codename: bookworm"],
        text=True, capture_output=True,
    ).stdout  # fmt: skip
    return next((line for line in out.splitlines() if "debian" in line), "")


def import_base(work: Path, environment: dict[str, str]) -> None:
    """Make the base image from Debian packages, where no registry of images can be reached."""
    root = work / "base"
    mirror = debian_mirror()
    run("debootstrap", "--variant=minbase", "bookworm", root, *([mirror] if mirror else []))
    tar = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
    run(DOCKER, "import", "-", BASE, stdin=tar.stdout, env=environment)
    if tar.wait() != 0:
        raise RuntimeError("tar could not read the base system")


def build_secrets(work: Path) -> list[str]:
    """Hand this machine's pip, Maven and certificate settings to builds, as secrets no layer keeps."""
    listing = run(sys.executable, "-m", "pip", "config", "list").stdout
    settings = dict(re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", listing, re.MULTILINE))
    wanted = {
        key: settings[key]
        for key in ("index-url", "extra-index-url", "trusted-host", "proxy")
        if key in settings
    }
    certificates = Path(settings.get("cert", "/etc/ssl/certs/ca-certificates.crt"))
    arguments: list[str] = []
    if certificates.is_file():
        wanted["cert"] = "/run/secrets/ca"
        arguments += ["--secret", f"id=ca,src={certificates}"]
    pip = work / "pip.conf"
    pip.write_text("[global]\n" + "".join(f"{key} = {value}\n" for key, value in wanted.items()))
    arguments += ["--secret", f"id=pip,src={pip}"]
    for name, path in (
        ("maven", Path.home() / ".m2/settings.xml"),
        ("truststore", Path("/etc/ssl/certs/java/cacerts")),
    ):
        if path.is_file():
            arguments += ["--secret", f"id={name},src={path}"]
    for proxy in ("http_proxy", "https_proxy", "no_proxy"):
        if proxy in os.environ:
            arguments += ["--build-arg", f"{proxy}={os.environ[proxy]}"]
    return arguments


def build_images(work: Path, environment: dict[str, str]) -> None:
    """Build the image of every part under the names docker-compose.yml gives them."""
    secrets = build_secrets(work)
    for part in IMAGES:
        began = time.monotonic()
        run(DOCKER, "build", "--quiet", *secrets, "--build-arg", f"BASE={BASE}",
            "--file", ROOT / f"packaging/docker/{part}.Dockerfile", "--tag", f"qstorman/{part}", ROOT,
            env=environment)  # fmt: skip
        say(f"built qstorman/{part} in {time.monotonic() - began:.0f} s")
