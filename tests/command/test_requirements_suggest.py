"""``ses requirements suggest --vo``: what members state becomes a proposal that somebody must store."""

import json
from collections.abc import Iterator

import pytest
from knowledge_service import KnowledgeService, knowledge_service
from ses_client.address import ServiceAddress
from ses_client.client import ServiceClient


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeService]:
    with knowledge_service(tmp_path_factory.mktemp("service")) as running:
        yield running


def test_the_proposal_comes_with_the_command_that_stores_it(real: KnowledgeService) -> None:
    nothing = real("requirements", "suggest", "--vo", "materials")
    assert "No member of materials states" in nothing.stdout
    address = ServiceAddress(real.url, real.folder / "token-admin")
    ServiceClient(address).send_accounts({"alice": "materials", "bob": "materials"})
    for user, rate in (("alice", 20), ("bob", 40)):
        assert real("requirements", "set", "user", user, f"current-write-rate>={rate}MB/s").exit_code == 0
    shown = real("requirements", "suggest", "--vo", "materials")
    assert shown.exit_code == 0, shown.output
    assert "ses requirements set vo materials 'current-write-rate>=20MB/s'" in shown.stdout
    stored = json.loads(real("requirements", "get", "vo", "materials", "--json").stdout)
    assert stored["requirements"] == []
    assert real("requirements", "suggest", "--vo", "materials", who="alice").exit_code != 0
