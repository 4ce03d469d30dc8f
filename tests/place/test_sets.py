"""A set of directories has a name: the user's settings come before those of the machine."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from places_program import Ses
from ses.api import place
from ses.place import sets
from ses.place.sets import directory_set, settings, with_directories
from ses_client.errors import NotFoundError, SesError, UsageError
from ses_client.messages.element_groups import Chosen


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The file of the user, and of the machine."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sets, "_OF_MACHINE", tmp_path / "machine")
    (tmp_path / "own/ses").mkdir(parents=True)
    (tmp_path / "machine").mkdir()
    return tmp_path / "own/ses/directories.toml", tmp_path / "machine/directories.toml"


def test_the_users_own_come_before_those_of_the_machine(files: tuple[Path, Path]) -> None:
    assert settings() == {}
    own, machine = files
    machine.write_text('[scratch]\namong = ["/a"]\n[fast]\namong = ["/b"]\n')
    own.write_text('[scratch]\namong = ["/c", "/d"]\n')
    assert directory_set("scratch").directories == ("/c", "/d")
    assert directory_set("fast").directories == ("/b",)
    assert directory_set("/x:/y").directories == ("/x", "/y")


def test_ses_place_and_its_interface_take_what_a_set_says(
    files: tuple[Path, Path], tmp_path: Path, ses: Ses
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "shared").mkdir(mode=0o700)
    files[0].write_text(
        f'[s]\namong = ["{tmp_path}/one"]\nneed = ["write>=1MB/s!"]\n'
        f'rates = {{ "{tmp_path}/one" = "9GB/s" }}\nledger = "{tmp_path}/shared/places"\n'
    )
    described = directory_set("s")
    assert ses("place", *described.options()).strip() == str(tmp_path / "one")
    assert (tmp_path / "shared/places").exists()
    (tmp_path / "shared/places").unlink()
    own = {"XDG_CONFIG_HOME": str(files[0].parents[1])}
    assert ses("place", "--on", "s", "--size", "1MB", **own).strip() == str(tmp_path / "one")
    assert (tmp_path / "shared/places").exists()
    assert "it misses" in ses("place", "--on", "s", "--need", "write>=90GB/s!", code=1, **own)
    assert "not both" in ses("place", "--on", "s", tmp_path, code=2, **own)
    with place(**described.arguments()) as chosen:
        assert chosen.directory == str(tmp_path / "one")


def test_a_name_that_no_file_has_is_one_of_the_services(files: tuple[Path, Path]) -> None:
    described = directory_set("scratch")
    assert (described.options(), described.arguments()) == (["--on", "scratch"], {"on": "scratch"})


def test_the_service_is_asked_for_the_directories_of_its_sets(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakeClient:
        def __init__(self, *_: object) -> None: ...

        def storage_systems(self) -> list[SimpleNamespace]:
            kinds = {"scratch": "directories", "home": "mergerfs"}
            return [SimpleNamespace(name=name, backend=backend) for name, backend in kinds.items()]

        def elements(self, chosen: Chosen) -> SimpleNamespace:
            assert chosen.system == "scratch"
            return SimpleNamespace(elements=[SimpleNamespace(target=path) for path in ("/a", "/b")])

    monkeypatch.setattr("ses_client.client.ServiceClient", FakeClient)
    described = with_directories(directory_set("scratch"))
    assert (described.directories, described.arguments()) == (("/a", "/b"), {"on": "scratch"})
    for name in ("home", "none"):
        with pytest.raises(NotFoundError, match="is no set of directories"):
            with_directories(directory_set(name))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a\n", "is not TOML"),
        ("a = 1\n", "[a] names no directories"),
        ("[a]\namong = []\n", "[a] names no directories"),
        ('[a]\namong = "/b"\n', "among of [a] is to be a list of texts"),
        ("[a]\namong = [1]\n", "among of [a] is to be a list of texts"),
        ('[a]\namong = ["b"]\n', "directories start with a slash"),
        ('["a/b"]\namong = ["/b"]\n', "names have none"),
        ('[a]\namong = ["/b"]\nneeds = []\n', "[a] has 'needs'; a set has among, need, rates, ledger only"),
        ('[a]\namong = ["/b"]\nrates = { "/b" = 3 }\n', "rates of [a] is to be a table of texts"),
        ('[a]\namong = ["/b"]\nledger = 3\n', "ledger of [a] is to be a text"),
    ],
)
def test_settings_that_make_no_sense_are_named(files: tuple[Path, Path], text: str, said: str) -> None:
    files[1].write_text(text)
    with pytest.raises(SesError) as failed:
        directory_set("a")
    assert str(files[1]) in str(failed.value)
    assert said in str(failed.value)


def test_an_empty_text_names_no_set(files: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError):
        directory_set("")
