"""The texts that ``ses init`` writes.  Pure: from answers to the content of each file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ses.literal import literal
from ses.setup.storage import Storage, Target

SERVICE_PORT, MONITOR_PORT, PORTAL_PORT = 8630, 8631, 8632

_PEOPLE = """
# People and nodes are described like this (ontology/README.md, docs/nodes.md); check with: ses kb validate
#
# <https://w3id.org/qstorman/site/materials> a qsm:VirtualOrganization ; qsm:name "materials" .
# <https://w3id.org/qstorman/site/alice> a qsm:User ; qsm:name "alice" ;
#     qsm:homeOrganization <https://w3id.org/qstorman/site/materials> .
# <https://w3id.org/qstorman/site/thin> a qsm:NodeClass ; qsm:name "thin" ; qsm:nodes "n[0001-0048]" .
"""
_MONITOR = """\
# The monitor: where it sees the load of each element.  All settings: docs/reference/monitor-settings.md
# Check it with: smed-monitor check --config {here}/smed.toml --site {here}/site.ttl
interval_seconds = 1.0          # each target is asked this often
current_window_seconds = 2.0    # "current" is a mean over about this time
average_window_seconds = 60.0   # and "average" over this
"""
_SERVICE = """\
# Options of the selection service: ses-service serve --help
#   --site          describes the storage; loaded by a start after the file changed
#   --monitor-url   gives the load; without it static facts decide
#   --tokens        who may call from other machines: ses-service token --help
#   --munge         nodes and people that munged vouches for may, too (docs/munge.md)
#   --listen        where they call, with the certificate of this machine: ses-service tls --help
SES_SERVICE_OPTIONS="{options}"
"""
_MONITOR_UNIT = """\
# Options of the monitor: smed-monitor serve --help.  Its settings are in {here}/smed.toml.
SMED_MONITOR_OPTIONS="--site {here}/site.ttl"
"""
_PORTAL = """\
# Options of the portal: ses-webface serve --help.  The first account: ses-webface account add NAME --admin
SES_WEBFACE_OPTIONS="--listen 0.0.0.0:{port} {tls}"
"""
_AGENT = """\
# Options of the agent on every compute node: /etc/default/ses-agent there (man ses-agent).
# Beside it on the node: tls/ca.pem as /etc/ses/ca.pem{token}.
SES_AGENT_OPTIONS="--service https://{host}:{port} --service-ca /etc/ses/ca.pem {proof}"
"""
_BY_TOKEN = {
    "proof": "--token-file /etc/ses/token",
    "token": ", and tokens/NODE.token as /etc/ses/token, mode 0600",
}
_BY_MUNGE = {"proof": "--munge", "token": "; nodes prove themselves by MUNGE"}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a site is made from.  ``hosts`` are the names and addresses of the service's machine.

    ``kb_url`` and ``database_url`` are empty for the embedded ones.  With ``munge`` nodes need no tokens.
    """

    directory: Path
    storage: tuple[Storage, ...]
    hosts: tuple[str, ...]
    nodes: tuple[str, ...]
    kb_url: str = ""
    database_url: str = ""
    munge: bool = False

    @property
    def here(self) -> Path:
        """Where most of it lies."""
        return self.directory / "qstorman"


def texts(answers: Answers) -> dict[Path, str]:
    """Return the content of each file that holds no secret."""
    here, host = answers.here, answers.hosts[0]
    default = answers.directory / "default"
    proof = _BY_MUNGE if answers.munge else _BY_TOKEN
    return {
        here / "site.ttl": "\n".join(system.turtle for system in answers.storage) + _PEOPLE,
        here / "smed.toml": _MONITOR.format(here=here) + _targets(answers.storage),
        here / "node/ses-agent": _AGENT.format(host=host, port=SERVICE_PORT, **proof),
        default / "ses-service": _SERVICE.format(options=" ".join(_service_options(answers))),
        default / "smed-monitor": _MONITOR_UNIT.format(here=here),
        default / "ses-webface": _PORTAL.format(port=PORTAL_PORT, tls=_tls(answers)),
    }


def _service_options(answers: Answers) -> list[str]:
    here = answers.here
    options = [f"--site {here}/site.ttl", f"--monitor-url http://127.0.0.1:{MONITOR_PORT}"]
    options += [f"--tokens {here}/tokens.toml", f"--listen 0.0.0.0:{SERVICE_PORT}"]
    options += [_tls(answers), *(["--munge"] if answers.munge else [])]
    if answers.kb_url:
        options += [f"--kb-url {answers.kb_url}", f"--kb-credentials-file {here}/kb-credentials"]
    if answers.database_url:
        options.append(f"--database-url {answers.database_url}")
    return options


def _tls(answers: Answers) -> str:
    base = answers.here / "tls" / answers.hosts[0]
    return f"--tls-cert {base}.pem --tls-key {base}-key.pem"


def _targets(storage: Sequence[Storage]) -> str:
    return "".join(_target(target, place) for place in storage for target in place.targets)


def _target(target: Target, system: Storage) -> str:
    lines = [f"\n# The elements of {literal(system.called)}.", "[[target]]"]
    lines += [f"name = {literal(target.name)}", f"collector = {literal(target.collector)}"]
    if target.url:
        lines += [f"url = {literal(target.url)}", "timeout_seconds = 1.0"]
    if target.paths:
        lines.append(f"paths = [{', '.join(map(literal, target.paths))}]")
    return "\n".join(lines) + "\n"
