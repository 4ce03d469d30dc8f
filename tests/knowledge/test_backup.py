"""Promises of backup and restore: whole or not at all, from any store to any, while the service runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from ses_service.commands.main import main
from ses_service.knowledge.errors import KnowledgeBaseError
from ses_service.knowledge.exchange.backup import back_up, restore
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet

Fuseki = Any


def fill(store: HttpStore, site: str) -> KnowledgeBase:
    """Store a site and a requirement."""
    knowledge = KnowledgeBase(store)
    knowledge.load_ontology()
    knowledge.load_site(site, source="site")
    stated = [Requirement(Kind.CURRENT_WRITE_RATE, 100.50e6), Requirement(Kind.FREE_CAPACITY, 0.1)]
    knowledge.replace_requirements(
        RequirementSet(Level.APPLICATION, 'a"\\\n\u00e4', tuple(stated)), author="alice", now=1.5
    )
    return knowledge


def test_what_was_backed_up_is_restored_in_place_of_the_rest(
    store: HttpStore, union_site: str, lustre_site: str, tmp_path: Path
) -> None:
    knowledge = fill(store, union_site)
    before = knowledge.environment(), set(map(repr, knowledge.requirement_sets()))
    count = back_up(store, tmp_path / "backup.nq")
    assert (tmp_path / "backup.nq").stat().st_mode & 0o077 == 0
    knowledge.load_site(lustre_site, source="other")
    knowledge.replace_requirements(RequirementSet(Level.USER, "bob"), author="bob", now=2.0)
    changed = knowledge.revision()
    assert restore(store, tmp_path / "backup.nq") == count
    assert (knowledge.environment(), set(map(repr, knowledge.requirement_sets()))) == before
    assert knowledge.revision() != changed  # so that a running service reads it


def test_a_backup_of_one_store_fits_the_other(
    fuseki: Fuseki, oxigraph: HttpStore, union_site: str, tmp_path: Path
) -> None:
    for source, target in ((oxigraph, fuseki.client()), (fuseki.client(), oxigraph)):
        source.update("DROP ALL")
        target.update("DROP ALL")
        written = fill(source, union_site)
        back_up(source, tmp_path / "backup.nq")
        restore(target, tmp_path / "backup.nq")
        assert KnowledgeBase(target).environment() == written.environment()
        assert KnowledgeBase(target).requirement_sets() == written.requirement_sets()


@pytest.mark.parametrize("harm", ["cut off", "malformed", "another file"])
def test_what_is_no_whole_backup_changes_nothing(
    store: HttpStore, union_site: str, tmp_path: Path, harm: str
) -> None:
    knowledge = fill(store, union_site)
    before = knowledge.revision()
    path = tmp_path / "backup.nq"
    back_up(store, path)
    whole = path.read_bytes()
    path.write_bytes(
        {"cut off": whole[:-40], "malformed": b"<a:b> nonsense\n" + whole, "another file": b"hello\n"}[harm]
    )
    with pytest.raises(KnowledgeBaseError):
        restore(store, path)
    assert knowledge.revision() == before
    assert len(knowledge.environment().elements) == 8


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.parametrize("served", [True, False], ids=["while the service runs", "while it does not"])
def test_the_embedded_store_is_backed_up_by_command(union_site: str, tmp_path: Path, served: bool) -> None:
    state, path = tmp_path / "state", tmp_path / "backup.nq"
    embedded = EmbeddedStore(state / "knowledge")
    try:
        fill(embedded.start(), union_site)
        if not served:
            embedded.stop()
        done = run("backup", "--state-dir", state, path)
        assert done.exit_code == 0, done.output
        done = run("restore", "--state-dir", state, path)
        assert (done.exit_code, "statements restored" in done.output) == (0, True), done.output
    finally:
        embedded.stop()
    again = EmbeddedStore(state / "knowledge")
    try:
        assert len(KnowledgeBase(again.start()).environment().elements) == 8
    finally:
        again.stop()


@pytest.mark.root
def test_what_root_restores_for_a_service_that_is_stopped_belongs_to_the_service(
    union_site: str, tmp_path: Path
) -> None:
    state, path = tmp_path / "state", tmp_path / "backup.nq"
    embedded = EmbeddedStore(state / "knowledge")
    fill(embedded.start(), union_site)
    embedded.stop()
    assert run("backup", "--state-dir", state, path).exit_code == 0
    shutil.rmtree(state / "knowledge")
    shutil.chown(state, 65534, 65534)
    assert run("restore", "--state-dir", state, path).exit_code == 0
    made = [restored.stat() for restored in (state / "knowledge").rglob("*")]
    assert made
    assert {(status.st_uid, status.st_gid) for status in made} == {(65534, 65534)}


def test_fuseki_is_backed_up_by_command_with_its_password_only(
    fuseki: Fuseki, union_site: str, tmp_path: Path
) -> None:
    fuseki.client().update("DROP ALL")
    fill(fuseki.client(), union_site)
    where = ["--kb-url", fuseki.address]
    known = [*where, "--kb-credentials-file", fuseki.directory / "writer.txt"]
    refused = run("backup", *where, tmp_path / "backup.nq")
    assert refused.exit_code == 1
    assert "401" in refused.output
    nowhere = run("backup", *known, tmp_path / "none" / "backup.nq")
    assert (
        nowhere.output == f"Error: {tmp_path}/none/backup.nq cannot be written: No such file or directory\n"
    )
    assert not (tmp_path / "backup.nq").exists()
    assert run("backup", *known, tmp_path / "backup.nq").exit_code == 0
    fuseki.client().update("DROP ALL")
    assert run("restore", *known, tmp_path / "backup.nq").exit_code == 0
    assert len(KnowledgeBase(fuseki.client()).environment().elements) == 8


def test_which_store_must_be_said(tmp_path: Path) -> None:
    done = run("backup", tmp_path / "backup.nq")
    assert done.exit_code == 2
    assert "--state-dir DIR, or --kb-url URL" in done.output


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["backup", "backup.nq"], "knowledge/data"),
        (["accept-smaller-site"], "site.json"),
        (["repair-ledger"], "ledger.db"),
    ],
)
def test_a_folder_that_is_no_services_is_refused_and_nothing_is_made_there(
    tmp_path: Path, command: list[str], kept: str
) -> None:
    folder = tmp_path / "qstorman"
    (folder / "service" / kept).mkdir(parents=True)
    done = run(*command, "--state-dir", folder)
    assert done.exit_code == 1
    assert f"did you mean {folder / 'service'}?" in done.output
    assert [path.name for path in folder.iterdir()] == ["service"]


def test_a_backup_that_cannot_be_written_leaves_nothing(store: HttpStore, tmp_path: Path) -> None:
    (tmp_path / "backup.nq").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        back_up(store, tmp_path / "backup.nq")
    assert [path.name for path in tmp_path.iterdir()] == ["backup.nq"]
