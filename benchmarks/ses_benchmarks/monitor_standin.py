"""A stand-in for the monitor, in a process of its own: once a second a sample of every element.

Answers ``GET /v1/observations`` as the monitor does when the rates of all elements changed, with bodies that
are made beforehand, so that it takes next to nothing of the machine.

    python -m ses_benchmarks.monitor_standin PORT ELEMENTS
"""

from __future__ import annotations

import json
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_SAMPLES = 3
_MARK = '"sequence": 0'
_PAST = json.dumps(
    {"element": "bench/e0", "step_seconds": 30, "source": "memory", "detail": "", "points": []}
)


def sample(elements: int, seed: int) -> str:
    """What a monitor answers about ``elements`` elements, with a sequence to be filled in."""
    draw = random.Random(seed)

    def rates() -> dict[str, float]:
        return {"current": draw.uniform(0, 1e7), "average": draw.uniform(0, 1e7)}

    observations = [
        {
            "element": f"bench/e{number}",
            "source": "standin",
            "target": "http://standin",
            "state": "ok",
            "sampled_at": 0.0,
            "age_seconds": 0.1,
            "read_bytes_per_second": rates(),
            "write_bytes_per_second": rates(),
            "queue_depth": draw.random(),
            "free_bytes": 1e11,
            "size_bytes": 2e11,
        }
        for number in range(elements)
    ]
    return json.dumps({"sequence": 0, "complete": True, "observations": observations})


def serve(port: int, elements: int) -> None:
    """Serve until the process is ended."""
    bodies = [sample(elements, seed) for seed in range(_SAMPLES)]
    begun = time.monotonic()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.startswith("/v1/history"):
                return self._answer(_PAST)
            after = int(parse_qs(urlsplit(self.path).query).get("after", ["0"])[0])
            now = time.monotonic() - begun
            if int(now) < after:
                time.sleep(after - now)
            sequence = max(after, int(now)) + 1
            return self._answer(bodies[sequence % _SAMPLES].replace(_MARK, f'"sequence": {sequence}', 1))

        def _answer(self, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
