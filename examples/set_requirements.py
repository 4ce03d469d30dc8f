#!/usr/bin/env python3
"""State what one application needs, so that its files are placed without changing it.

Sends requirements.json to the selection service as the requirements of an application, and prints
which requirements the next run of that application will have and from where each came.

usage: set_requirements.py SERVICE_URL USER APPLICATION [REQUIREMENTS_FILE]

The token is read from the file that SES_TOKEN_FILE names; without it none is sent, which a service
started with --trust-loopback accepts.
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 10


def call(url: str, body: bytes | None = None) -> dict[str, Any]:
    """PUT the body, or GET without one; the answer's JSON.  Ends the program with the service's reason."""
    request = urllib.request.Request(url, data=body, method="PUT" if body else "GET")
    request.add_header("Content-Type", "application/json")
    if token_file := os.environ.get("SES_TOKEN_FILE"):
        request.add_header("Authorization", f"Bearer {Path(token_file).read_text().strip()}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.HTTPError as error:
        sys.exit(f"{url}: {error.code} {error.read().decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"{url}: {error}")


def main() -> None:
    """Put the requirements, then show what applies."""
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    service, user, application = sys.argv[1:4]
    default = Path(__file__).with_name("requirements.json")
    body = Path(sys.argv[4] if len(sys.argv) == 5 else default).read_bytes()
    name = urllib.parse.quote(f"{user}:{application}", safe=":")
    call(f"{service}/v1/requirements/application/{name}", body)
    subject = urllib.parse.urlencode({"user": user, "application": application})
    for resolved in call(f"{service}/v1/requirements/effective?{subject}")["requirements"]:
        print("{kind}: at least {minimum:g} {unit}, from {level} {level_name}".format(**resolved))


if __name__ == "__main__":
    main()
