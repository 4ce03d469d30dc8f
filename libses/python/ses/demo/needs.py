"""What the demonstration's users need, at three levels (the example sets a fourth itself).

The fastest pair of branches is nearly full, the second has some room, the rest is empty: so needs
for speed and needs for room lead to different places.
"""

from __future__ import annotations

from ses_client.client import ServiceClient

from ses.quantities import requirement

NEEDS = {
    ("user", "root"): ("current-write-rate>=70MB/s",),
    ("application", "root:tar"): ("current-write-rate>=40MB/s", "free-capacity>=0.14GB,hard"),
    ("application", "root:python3"): ("current-write-rate>=40MB/s", "free-capacity>=0.14GB,hard"),
    ("user", "daemon"): ("current-write-rate>=30MB/s",),
    ("user", "games"): ("current-write-rate>=10MB/s",),
    ("vo", "materials"): ("current-write-rate>=20MB/s", "free-capacity>=0.2GB,hard"),
}


def state_needs(client: ServiceClient) -> None:
    """Store the requirements through the service, as the portal or ``ses requirements set`` would."""
    for (level, name), texts in NEEDS.items():
        current = client.requirement_set(level, name)
        client.replace_requirements(level, name, map(requirement, texts), revision=current.revision)
