"""A token of one node says nothing about another; two may be valid at once; what a node says is bounded."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from invoked import invoked
from ses_service.commands.main import main

sys.path.insert(1, str(Path(__file__).parents[1] / "service"))

from files_opened import announcement, new_ids
from service_process import SITE, Running


def made(tokens: Path, *options: str) -> str:
    """Make a token by the command."""
    done = invoked(main, ["token", "new", f"--tokens={tokens}", *options])
    return done.output.strip()


@dataclass
class Guarded:
    """A service that asks for tokens."""

    service: Any
    tokens: Path
    of: dict[str, str] = field(default_factory=dict)

    def say(self, who: str, node: str, said: dict[str, Any]) -> tuple[int, Any]:
        message = {"incarnation": "a" * 16, **said}
        return self.service.call("POST", f"/v1/nodes/{node}/announcements", message, token=self.of[who])

    def open_files(self) -> list[dict[str, Any]]:
        status, listed = self.service.call("GET", "/v1/placements?state=open", token=self.of["admin"])
        assert status == 200
        return listed["placements"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    folder = tmp_path_factory.mktemp("service")
    tokens = folder / "tokens.toml"
    made(tokens, "--role=admin", "--name=first")
    service = Running(folder, f"--tokens={tokens}", f"--site={SITE}")
    yield service.wait_ready(), tokens
    service.end()


@pytest.fixture
def guarded(running: tuple[Any, Path]) -> Guarded:
    """The service, with fresh tokens only."""
    service, tokens = running
    tokens.write_text("", "utf-8")
    of = {
        "n17": made(tokens, "--role=node", "--node=n17"),
        "n18": made(tokens, "--role=node", "--node=n18"),
        "gpu": made(tokens, "--role=node", "--node=gpu*"),
        "admin": made(tokens, "--role=admin", "--name=root"),
    }
    fresh = Guarded(service, tokens, of)
    for node in ("n17", "n18"):
        assert (
            service.call(
                "POST",
                f"/v1/nodes/{node}/announcements",
                {"incarnation": "a" * 16, "complete": True},
                token=of["admin"],
            )[0]
            == 200
        )
    return fresh


def test_one_nodes_token_says_nothing_of_another(guarded: Guarded) -> None:
    mine = new_ids(1)
    assert guarded.say("n17", "n17", announcement(mine, ["union/b1"]))[0] == 200
    ended = {"ended": [{"placement_id": mine[0], "reason": "closed"}]}
    for node, said in (
        ("n17", ended),  # ends the file of another node
        ("n17", {"complete": True}),  # ends all of them
        ("n99", announcement(new_ids(2), ["union/b1"])),  # makes a node up
        ("gpu1", announcement(new_ids(2), ["union/b1"])),
    ):
        status, answer = guarded.say("n18", node, said)
        assert status == 403, answer
        assert "speaks for node n18" in answer["detail"]
        assert node in answer["detail"]
    # under its own name it may not end it either
    status, answer = guarded.say("n18", "n18", ended)
    assert [refusal["placement_id"] for refusal in answer["refused"]] == mine
    assert guarded.say("n18", "n18", {"complete": True})[0] == 200
    assert [file["placement_id"] for file in guarded.open_files()] == mine
    nodes = guarded.service.call("GET", "/v1/nodes", token=guarded.of["admin"])[1]["nodes"]
    assert {listed["node"] for listed in nodes} == {"n17", "n18"}


def test_it_reads_nothing_of_another_either(guarded: Guarded) -> None:
    mine = new_ids(1)
    assert guarded.say("n17", "n17", announcement(mine, ["union/b1"]))[0] == 200

    def call(path: str, who: str, body: Any = None) -> tuple[int, Any]:
        return guarded.service.call("POST" if body else "GET", path, body, token=guarded.of[who])

    assert {placement["subject"]["node"] for placement in call("/v1/placements", "n17")[1]["placements"]} == {
        "n17"
    }
    assert call("/v1/placements?state=open", "n18")[1]["placements"] == []
    assert call(f"/v1/placements/{mine[0]}", "n18")[0] == 403
    ask = {"subject": {"user": "alice", "node": "n17"}}
    assert [call("/v1/selections", who, ask)[0] for who in ("n17", "n18")] == [200, 403]


def test_a_token_may_be_bound_to_a_pattern_of_names(guarded: Guarded) -> None:
    assert guarded.say("gpu", "gpu7", {})[0] == 200
    assert guarded.say("gpu", "n17", {})[0] == 403


def test_a_token_of_no_node_speaks_for_none_and_the_answer_names_the_mend(guarded: Guarded) -> None:
    text = guarded.tokens.read_text("utf-8").replace('node = "n17"\n', "")
    guarded.tokens.write_text(text, "utf-8")
    status, answer = guarded.say("n17", "n17", {})
    assert status == 403
    assert "ses-service token new --role node --node n17" in answer["detail"]
    assert guarded.say("n18", "n18", {})[0] == 200


def test_two_tokens_of_a_node_are_valid_until_one_is_revoked(guarded: Guarded) -> None:
    guarded.tokens.write_text("# the nodes\n" + guarded.tokens.read_text("utf-8"), "utf-8")
    guarded.of["again"] = made(guarded.tokens, "--role=node", "--node=n17")
    assert [guarded.say(who, "n17", {})[0] for who in ("n17", "again")] == [200, 200]
    listing = ["token", "list", f"--tokens={guarded.tokens}"]
    listed = CliRunner().invoke(main, listing).output
    answer = json.loads(CliRunner().invoke(main, [*listing, "--json"]).output)
    assert {"name": "agent-n17-2", "role": "node", "user": None, "node": "n17"} in answer
    assert "agent-n17\tnode\tn17\n" in listed
    assert "agent-n17-2\tnode\tn17\n" in listed
    revoke = ["token", "revoke", f"--tokens={guarded.tokens}"]
    assert CliRunner().invoke(main, [*revoke, "agent-n17"]).exit_code == 0
    assert [guarded.say(who, "n17", {})[0] for who in ("n17", "again")] == [401, 200]
    assert guarded.say("n18", "n18", {})[0] == 200
    assert guarded.tokens.read_text("utf-8").startswith("# the nodes\n")
    assert guarded.tokens.stat().st_mode & 0o777 == 0o600
    assert CliRunner().invoke(main, [*revoke, "agent-n17"]).exit_code == 1


def test_tokens_of_many_nodes_are_written_for_their_owner_alone(tmp_path: Path) -> None:
    tokens, folder = tmp_path / "tokens.toml", tmp_path / "out"
    command = ["token", "nodes", f"--tokens={tokens}", f"--directory={folder}"]
    assert CliRunner().invoke(main, [*command, "n1", "n2"]).exit_code == 0
    files = {path.name: path for path in folder.iterdir()}
    assert set(files) == {"n1.token", "n2.token"}
    for token_file in files.values():
        assert token_file.stat().st_mode & 0o777 == 0o600
        assert token_file.read_text("utf-8").strip() not in tokens.read_text("utf-8")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert CliRunner().invoke(main, [*command, "../n3"]).exit_code == 2
