"""Whom the service believes when it asks others: the monitor, other services, a knowledge base."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
from ses_listen.tls import TlsFiles


@dataclass(frozen=True, slots=True)
class Trust:
    """The authority of their certificates (``None``: the system's), and what the service shows of its own."""

    ca: Path | None = None
    own: TlsFiles | None = None

    def pool(self, size: int = 1) -> urllib3.PoolManager:
        """Return up to ``size`` kept connections to one other, over which nothing is tried again."""
        options: dict[str, Any] = {}
        if self.ca is not None:
            options["ca_certs"] = str(self.ca)
        if self.own is not None:
            options |= {"cert_file": str(self.own.certificate), "key_file": str(self.own.key)}
        return urllib3.PoolManager(num_pools=1, maxsize=size, retries=False, **options)
