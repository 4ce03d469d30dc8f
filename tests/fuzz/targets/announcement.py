"""What an agent announces, as the service reads it: refused as a whole, or taken without any surprise."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["ses_service.api.schemas"]):
    from pydantic import ValidationError
    from ses_service.api.schemas.nodes import AnnouncementIn


GOOD = (Path(__file__).parents[1] / "seeds/announcement/all").read_text()
ODD = (
    "null",
    "-1",
    "1e999",
    "NaN",
    "true",
    "18446744073709551616",
    "0.5",
    "{}",
    "[]",
    '""',
    '"\\ud800"',
    '"\\u0000"',
)


def changed(data: bytes) -> str:
    """A good announcement in which some values are others: random bytes are hardly ever JSON."""
    said = json.loads(GOOD)
    many = ["many"]
    chosen = atheris.FuzzedDataProvider(data)
    for _ in range(chosen.ConsumeIntInRange(1, 6)):
        at: Any = said
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = keys[chosen.ConsumeIntInRange(0, len(keys) - 1)]
            if isinstance(at[key], dict | list) and at[key] and chosen.ConsumeBool():
                at = at[key]
                continue
            other = chosen.PickValueInList([*ODD, "text", *many])
            if other == "text":
                at[key] = chosen.ConsumeUnicode(40)
            elif other == "many":
                at[key] = [at[key]] * chosen.ConsumeIntInRange(0, 3000)
                many.clear()  # once: bodies have a largest size
            else:
                at[key] = json.loads(other)
            break
    return json.dumps(said)


def one_input(data: bytes) -> None:
    try:
        body = AnnouncementIn.model_validate_json(data if data[:1] == b"{" else changed(data))
    except ValidationError:
        return
    said = body.to_model("n1", "")
    assert len(said.files) <= 2000
    for ended in body.ended:  # of those that are not read natively
        written = ended.bytes_written
        assert written is None or 0 <= written < math.inf
    for refused in body.refused:
        assert refused.list in AnnouncementIn.ITEMS
        assert refused.detail
    body.model_dump_json()


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
