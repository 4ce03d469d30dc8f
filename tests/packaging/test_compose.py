"""docker-compose.yml says what the code says: ports, commands, settings, users, health."""

import importlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PROGRAMS = {
    "ses-service": "ses_service.commands.main",
    "smed-monitor": "smed_monitor.cli",
    "webface": "ses_webface.cli",
}
LONG_RUNNING = sorted(set(SERVICES) - {"setup"})


def dockerfile(service: str) -> str:
    """Return the text of the Dockerfile a service is built from."""
    return (ROOT / SERVICES[service]["build"]["dockerfile"]).read_text()


def options(service: str) -> dict[str, str]:
    """Return the options of a service's start command."""
    words = SERVICES[service].get("command", [])
    return dict(word.split("=", 1) for word in words if word.startswith("--"))


def serve_command(service: str) -> click.Command:
    """Return the `serve` command of a Python part."""
    group = importlib.import_module(PROGRAMS[service]).main
    return group.commands["serve"]


def test_docker_compose_accepts_the_file() -> None:
    assert shutil.which("docker-compose"), "install docker-compose: packaging/install.sh test"
    ran(["docker-compose", "config", "-q"], cwd=ROOT)


def test_every_server_part_is_there() -> None:
    parts = {"fuseki", "ses-service", "smed-monitor", "prometheus", "node-exporter", "webface", "postgres"}
    assert parts <= set(SERVICES)


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_image_is_small_in_rights_and_takes_its_base_as_an_argument(service: str) -> None:
    text = dockerfile(service)
    assert text.index("ARG BASE=") < text.index("FROM")
    assert all(line.startswith("FROM ${BASE}") for line in re.findall(r"^FROM.*$", text, re.MULTILINE))
    last_stage = text[text.rindex("FROM ${BASE}") :]
    assert re.findall(r"^USER (\S+)$", last_stage, re.MULTILINE) == ["qstorman"]
    assert "--uid 10001" in last_stage
    assert SERVICES[service]["cap_drop"] == ["ALL"]
    assert SERVICES[service]["read_only"] is True


@pytest.mark.parametrize("service", LONG_RUNNING)
def test_service_has_a_health_check(service: str) -> None:
    assert SERVICES[service]["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("service", sorted(PROGRAMS))
def test_start_command_uses_options_the_program_has(service: str) -> None:
    assert SERVICES[service]["command"][0] == "serve"
    known = {name for parameter in serve_command(service).params for name in parameter.opts}
    assert set(options(service)) <= known


@pytest.mark.parametrize("service", sorted(PROGRAMS))
def test_port_is_the_one_the_program_documents(service: str) -> None:
    default = next(p.default for p in serve_command(service).params if "--listen" in p.opts)
    port = str(default).rsplit(":", 1)[1]
    assert options(service)["--listen"] == f"0.0.0.0:{port}"
    assert f"EXPOSE {port}" in dockerfile(service)
    published = SERVICES[service].get("ports", [])
    assert all(entry.endswith(f":{port}") for entry in published)
    assert f"https://localhost:{port}/" in " ".join(SERVICES[service]["healthcheck"]["test"])


@pytest.mark.parametrize("service", sorted(PROGRAMS))
def test_what_listens_beyond_its_container_speaks_tls(service: str) -> None:
    setup = (ROOT / "packaging/compose/setup.sh").read_text()
    for option, ending in (("--tls-cert", ".pem"), ("--tls-key", "-key.pem")):
        folder, _, name = options(service)[option].rpartition("/")
        assert name == service + ending
        given = re.search(rf"^give {folder} (.*)$", setup, re.MULTILINE)
        assert given, folder
        assert name in given[1].split()
        volumes = [mounted.split(":")[1] for mounted in SERVICES[service]["volumes"]]
        assert folder in volumes
    assert f" {service},localhost" in setup


def test_addresses_between_parts_name_services_and_their_ports() -> None:
    ports = {
        name: match[1]
        for name in SERVICES
        if (match := re.search(r"^EXPOSE (\d+)$", dockerfile(name), re.MULTILINE))
    }
    named = re.findall(
        r"https?://([a-z-]+):(\d+)", " ".join(" ".join(s.get("command", [])) for s in SERVICES.values())
    )
    assert named
    assert all(ports[name] == port for name, port in named)
    scraped = yaml.safe_load((ROOT / "packaging/prometheus/prometheus.yml").read_text())["scrape_configs"]
    targets = [target for job in scraped for group in job["static_configs"] for target in group["targets"]]
    assert targets
    assert all(ports[target.split(":")[0]] == target.split(":")[1] for target in targets)


def test_only_loopback_is_published() -> None:
    published = [entry for service in SERVICES.values() for entry in service.get("ports", [])]
    assert published
    assert all(entry.startswith("127.0.0.1:") for entry in published)


def test_no_secret_is_in_the_file_or_an_image() -> None:
    texts = [(ROOT / "docker-compose.yml").read_text(), *(dockerfile(name) for name in SERVICES)]
    for text in texts:
        assert not re.search(r"(?i)(password|secret|token)\s*[:=]\s*['\"]?[A-Za-z0-9]{8,}", text)
        assert not re.search(r"\b[0-9a-f]{32,}\b", text)


def test_each_part_mounts_its_own_volumes_only() -> None:
    """What two parts share holds no secret: a certificate of the authority, a socket that asks the kernel."""
    shared = {"sockets": {"webface", "postgres"}}
    mounted: dict[str, set[str]] = {name: set() for name in COMPOSE["volumes"]}
    for service in LONG_RUNNING:
        for entry in SERVICES[service].get("volumes", []):
            name = entry.split(":")[0]
            if name in mounted:
                mounted[name].add(service)
                folder = entry.split(":")[1]
                assert entry.endswith(":ro") or not folder.startswith("/run/qstorman-") or name in shared
    assert {name: parts for name, parts in mounted.items() if len(parts) > 1} == shared
    assert mounted["certificates"] == set(), "the authority's key and the administrator's token"
    assert len(mounted) > 8


def test_setup_gives_each_part_the_secrets_it_needs_and_no_other(tmp_path: Path) -> None:
    script = (ROOT / "packaging/compose/setup.sh").read_text().replace("/run/qstorman-", f"{tmp_path}/")
    for entry in SERVICES["setup"]["volumes"]:
        if ":/run/qstorman-" in entry:
            (tmp_path / entry.split(":/run/qstorman-")[1]).mkdir()
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for _ in range(2):  # a second time, as at each `up`
        ran(["sh", "-c", script], env={"PATH": path})
    files = {folder.name: {file.name for file in folder.iterdir()} for folder in tmp_path.iterdir()}
    made = files.pop("certificates")
    assert {"admin-token", "ca-key.pem"} <= made
    assert files == {
        "secrets": {"ca.pem", "kb-writer", "ses-service-key.pem", "ses-service.pem", "tokens.toml"},
        "knowledge": {"ca.pem", "fuseki-key.pem", "fuseki.pem", "passwd.txt"},
        "portal": {"ca.pem", "portal-token", "webface-key.pem", "webface.pem"},
        "monitor": {"ca.pem", "smed-monitor-key.pem", "smed-monitor.pem"},
        "authority": {"ca.pem"},
    }
    kept = {file: file.read_text() for file in tmp_path.glob("*/*") if not file.name.endswith(".pem")}
    secrets = [kept[tmp_path / name].strip() for name in ("certificates/admin-token", "portal/portal-token")]
    assert not any(secret in kept[tmp_path / "secrets/tokens.toml"] for secret in secrets)
    assert {file.stat().st_mode & 0o077 for file in kept} == {0}


def test_the_site_of_the_example_is_monitored_and_described_alike() -> None:
    site = (ROOT / "packaging/compose/site/site.ttl").read_text()
    monitor = (ROOT / "packaging/compose/site/smed.toml").read_text()
    watched = re.findall(r'^id = "[^"/]+/([^"]+)"', monitor, re.MULTILINE)
    assert watched
    assert all(f'"{name}"' in site for name in watched)


def test_what_images_copy_from_here_is_given_to_the_engine() -> None:
    rules = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert rules[0] == "*"
    given = [Path(rule[1:]) for rule in rules if rule.startswith("!")]
    copied = [
        Path(source)
        for file in sorted((ROOT / "packaging" / "docker").glob("*.Dockerfile"))
        for line in file.read_text("utf-8").splitlines()
        if line.startswith("COPY ") and "--from=" not in line
        for source in line.split()[1:-1]
    ]
    assert len(copied) > 5
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(source == path or path in source.parents for path in given), f"{source} is ignored"
