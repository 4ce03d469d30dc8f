"""A user's token reads the requirements that can apply to that user, stated and changed, and no others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from service_process import Running
from ses_service.security.tokens import Role, add_token

REQUIREMENTS = {"requirements": [{"kind": "free-capacity", "minimum": 1, "unit": "GB"}]}


def test_a_user_hears_nothing_of_what_others_need(tmp_path: Path, start: Callable[..., Running]) -> None:
    tokens = tmp_path / "tokens"
    alice = add_token(tokens, Role.USER, "laptop", "alice")
    service = start(f"--tokens={tokens}").wait_ready()

    def asked(path: str) -> tuple[int, Any]:
        return service.call("GET", path, token=alice)

    for name in ("user/alice", "user/bob"):
        assert service.call("PUT", f"/v1/requirements/{name}", REQUIREMENTS)[0] == 200
    numbers = {
        change["subject"]: change["number"] for change in service.call("GET", "/v1/changes")[1]["changes"]
    }
    bobs = next(number for subject, number in numbers.items() if subject.endswith("user/bob"))
    own = next(number for subject, number in numbers.items() if subject.endswith("user/alice"))

    listed = asked("/v1/changes")[1]["changes"]
    assert own in [change["number"] for change in listed]
    assert bobs not in [change["number"] for change in listed]
    assert asked("/v1/changes?subject=user/alice")[1]["changes"]
    assert asked("/v1/changes?subject=user/bob")[0] == 403
    assert asked(f"/v1/changes/{own}")[1]["states"]
    assert asked(f"/v1/changes/{bobs}")[0] == 403
    named = {(stated["level"], stated["name"]) for stated in asked("/v1/requirements")[1]["sets"]}
    assert ("user", "alice") in named
    assert ("user", "bob") not in named
    for path in ("/v1/requirements/user/bob", "/v1/requirements/effective?user=bob"):
        assert asked(path)[0] == 403
    for who, status in (("alice", 200), ("bob", 403)):
        said = service.call("POST", "/v1/selections", {"subject": {"user": who}}, token=alice)
        assert said[0] == status
