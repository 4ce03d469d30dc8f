"""What a service tells its agents of the elements, to choose from when it does not answer."""

from __future__ import annotations

import time
from typing import Any

from service_double import ServiceDouble


def snapshot_of(
    service: ServiceDouble, *, best: str = "", age: float = 0.0, arrivals: float = 0.0
) -> dict[str, Any]:
    """All elements are alike but `best`, which is a thousand times as fast just now."""
    elements = []
    for element, target in service.targets.items():
        rate = 100000.0 if element == best else 100.0
        elements.append(
            {
                "element": element,
                "storage_system": "union",
                "backend": service.backend,
                "target": str(target),
                "state": "active",
                "capability": {"read_mb_s": 200.0, "write_mb_s": 200.0},
                "available": {"read_mb_s": rate, "write_mb_s": rate},
                "free_gb": 50.0,
            }
        )
    return {
        "decided_at": time.time() - age,
        "elements_total": len(elements),
        "arrival_rate": arrivals,
        "elements": elements,
    }
