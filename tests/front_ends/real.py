"""Real programs that front ends are for, each in an environment of its own, kept in the build folder."""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from ran import ran

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build/front-ends"
PROGRAMS = Path(sys.executable).parent


def example(section: str, language: str) -> str:
    """Return the first block of this language in a section of the page."""
    page = (ROOT / "docs/front-ends.md").read_text().split("\n## ")
    (text,) = (part for part in page if part.startswith(f"{section}\n"))
    match = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert match, section
    return match[1]


def environment(*packages: str) -> Path:
    """Return the folder of programs where these packages are installed, beside those of this project."""
    made = KEPT / hashlib.sha256(" ".join((sys.version, *packages)).encode()).hexdigest()[:16]
    made.mkdir(parents=True, exist_ok=True)
    with (made / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "ready").exists():
            _run(sys.executable, "-m", "venv", "--clear", made / "venv")
            _run(made / "venv/bin/pip", "install", "--quiet", "uv")  # pip takes minutes for Galaxy
            installing = ("pip", "install", "--quiet", "--python", made / "venv/bin/python")
            _run(made / "venv/bin/uv", *installing, *packages)
            (folder,) = (made / "venv/lib").glob("python*/site-packages")
            (own,) = PROGRAMS.parent.glob("lib/python*/site-packages")
            (folder / "zz-project.pth").write_text(f"import site; site.addsitedir({str(own)!r})\n")
            (made / "ready").touch()
    return made / "venv/bin"


def nextflow() -> list[str]:
    """Return the command of a Nextflow that Maven Central has whole."""
    jars = KEPT / "nextflow-24.10.0"
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "nextflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (jars / "ready").exists():
            jars.mkdir(exist_ok=True)
            (jars / "pom.xml").write_text(_POM)
            copying = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
            _run("mvn", "-q", "-B", "-f", jars / "pom.xml", copying, f"-DoutputDirectory={jars}")
            (jars / "ready").touch()
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED.split()]
    return ["java", *opened, "-cp", f"{jars}/*", "nextflow.cli.Launcher"]


def _run(*command: object) -> None:
    ran(list(map(str, command)))


def run(*command: object, folder: Path, **environment: str) -> str:
    """Run a real program in a folder, with the commands of this project; return what it said."""
    paths = f"{PROGRAMS}:{os.environ['PATH']}"
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, "PATH": paths, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>tests</artifactId><version>1</version><dependencies><dependency>
<groupId>io.nextflow</groupId><artifactId>nextflow</artifactId><version>24.10.0</version>
</dependency></dependencies></project>
"""
# As Nextflow's own launcher opens them; the launcher itself is on no registry.
_OPENED = """
java.lang java.io java.nio java.net java.util java.util.concurrent.locks java.util.concurrent.atomic
sun.nio.ch sun.nio.fs sun.net.www.protocol.http
"""
