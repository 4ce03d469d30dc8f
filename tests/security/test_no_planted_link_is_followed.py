"""What root or a service writes, makes or closes goes to no place that a planted link leads to."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from ses.output import write_json
from ses.slurm.offers import publish
from ses.whole_file import write_whole
from ses_service.knowledge.errors import KnowledgeBaseError
from ses_service.knowledge.shrinking import ACCEPTED
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.security.certificates import key_of, make_certificates
from ses_service.security.tokens import Role, TokenFileError, add_token
from ses_service.security.unix_socket import LocalListener

WRITERS: dict[str, Callable[[Path], None]] = {
    "results": lambda path: write_json(path, {"a": 1}),
    "offers": lambda path: publish(path, "ses-offers 2 0\n"),
    "a description": lambda path: write_whole(path, "text"),
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of root's, elsewhere."""
    path = tmp_path / "etc" / "victim"
    path.parent.mkdir()
    path.write_text("precious")
    path.chmod(0o640)
    return path


def mark(path: Path) -> tuple[str, int, int, float]:
    status = path.stat()
    return path.read_text(), stat.S_IMODE(status.st_mode), status.st_uid, status.st_mtime


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_a_command_replaces_a_link_and_leaves_where_it_leads(
    write: Callable[[Path], None], victim: Path, tmp_path: Path
) -> None:
    before, path = mark(victim), tmp_path / "shared" / "out"
    path.parent.mkdir()
    path.symlink_to(victim)
    write(path)
    assert mark(victim) == before
    assert not path.is_symlink()
    assert list(path.parent.iterdir()) == [path]


def test_no_draft_of_a_command_has_a_name_that_can_be_planted(
    victim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "site.ttl"
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".site.ttl-guessed").symlink_to(victim)
    before = mark(victim)
    with pytest.raises(FileExistsError):
        write_whole(path, "text")
    assert mark(victim) == before
    assert not path.exists()


def test_what_goes_to_standard_output_by_its_name_still_does(tmp_path: Path) -> None:
    read, write = os.pipe()
    try:
        write_whole(Path(f"/dev/fd/{write}"), "text")
        assert os.read(read, 100) == b"text"
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.root
def test_keys_are_given_away_where_they_are_made_and_nowhere_else(
    victim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_name: list[object] = []
    for name in ("chown", "chmod"):
        monkeypatch.setattr(os, name, lambda *words, **_: by_name.append(words))
    folder = tmp_path / "tls"
    folder.mkdir()
    before = mark(victim)
    key_of(folder / "n1.pem").symlink_to(victim)
    ((path, _),) = make_certificates(folder, ["n1"], 10, 65534, 65534)
    status = key_of(path).lstat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (65534, 65534, 0o640)
    assert mark(victim) == before
    assert by_name == []


def test_a_token_is_added_to_no_file_that_a_link_leads_to(victim: Path, tmp_path: Path) -> None:
    before, path = mark(victim), tmp_path / "tokens.toml"
    path.symlink_to(victim)
    with pytest.raises(TokenFileError):
        add_token(path, Role.ADMIN, "admin")
    assert mark(victim) == before


def test_a_socket_is_opened_to_all_without_a_look_at_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_name: list[object] = []
    monkeypatch.setattr(os, "chmod", lambda *words, **_: by_name.append(words))
    door = LocalListener(tmp_path / "service.sock")
    try:
        assert stat.S_IMODE(door.path.stat().st_mode) == 0o666
        assert by_name == []
    finally:
        door.close()


@pytest.mark.parametrize("name", ["lock", "store.log"])
def test_a_store_that_root_starts_writes_to_nothing_that_a_link_leads_to(
    victim: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "state" / "knowledge"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(victim)
    before = mark(victim)
    store = EmbeddedStore(folder)
    try:
        with pytest.raises(KnowledgeBaseError):
            store.start()
    finally:
        store.stop()
    assert mark(victim) == before


@pytest.mark.root
def test_a_store_that_root_starts_closes_no_folder_of_others(tmp_path: Path) -> None:
    state, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    state.mkdir()
    elsewhere.mkdir(mode=0o755)
    (state / "knowledge").symlink_to(elsewhere)
    (elsewhere / "lock").mkdir()  # so that it does not start
    os.chown(state, 65534, 65534)
    with pytest.raises(KnowledgeBaseError):
        EmbeddedStore(state / "knowledge").start()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


@pytest.mark.root
def test_an_administrators_word_is_left_by_the_owner_of_the_folder(victim: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "site.json").write_text("{}")
    (state / ACCEPTED).symlink_to(victim)
    os.chown(state, 65534, 65534)
    before, child = mark(victim), os.fork()
    if child == 0:  # it becomes that user
        try:
            from ses_service.commands.backup import accept_smaller_site

            accept_smaller_site.main(["--state-dir", str(state)], standalone_mode=False)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert mark(victim) == before
