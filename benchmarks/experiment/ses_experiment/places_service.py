"""A service and a monitor over directories, for the arm of ``places`` whose jobs ask by ``--on``; within."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from ses.demo.tools import tool
from ses.settings import service_address
from ses_client.client import ServiceClient
from ses_client.errors import SesError

NAME = "directories"
_PROGRAMS = Path(sys.executable).parent
_SECONDS = 180.0  # programs start slowly there
_RATE = """{target} ; qsm:nominalWriteRate [
        a qudt:QuantityValue ; qudt:numericValue {rate:e} ; qudt:hasUnit unit:MegaBYTE-PER-SEC ]"""


def begin(folder: Path, rates: Mapping[str, float]) -> None:
    """Start both, and have this process and its children ask them.  Raises SesError where they do not answer.

    ``rates`` are MB/s of the directories, which the site states.
    """
    etc, port = folder / "etc", 7461
    socket.sethostname("localhost")
    tool(
        str(_PROGRAMS / "ses"),
        "init",
        str(etc),
        *(word for entry in rates for word in ("--directories", entry)),
    )
    site = etc / "qstorman/site.ttl"
    described = site.read_text("utf-8")
    for path, rate in rates.items():
        target = f'qsm:target "{path}"'
        described = described.replace(target, _RATE.format(target=target, rate=rate))
    site.write_text(described, "utf-8")
    monitor, url = f"127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
    options = (f"--config={etc / 'qstorman/smed.toml'}", f"--site={site}")
    subprocess.Popen([_PROGRAMS / "smed-monitor", "serve", f"--listen={monitor}", *options])
    site_of = (f"--site={site}", f"--monitor-url=http://{monitor}", f"--state-dir={folder / 'service'}")
    listen = f"--listen=127.0.0.1:{port + 1}"
    subprocess.Popen([_PROGRAMS / "ses-service", "serve", listen, *site_of, "--trust-loopback"])
    os.environ["SES_SERVICE_URL"] = url
    client, until = ServiceClient(service_address(url, None)), time.monotonic() + _SECONDS
    while not _sees_all(client, len(rates)):
        if time.monotonic() > until:
            raise SesError(f"The service did not see {len(rates)} directories within {_SECONDS:g} s.")
        time.sleep(1)


def _sees_all(client: ServiceClient, count: int) -> bool:
    try:
        elements = client.elements().elements
    except SesError:
        return False
    return [element.observed for element in elements] == ["ok"] * count
