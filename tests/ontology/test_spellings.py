"""Each kind of requirement has one set of spellings, whoever reads them."""

import re
from pathlib import Path

import pytest
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.kinds import PREDICTED

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = (ROOT / "libses/src/settings/require.c").read_text()
INTERFACE = (ROOT / "libses/include/ses/ses.hpp").read_text()


@pytest.mark.parametrize("kind", PREDICTED)
def test_the_library_understands_every_spelling_of_the_vocabulary_and_no_other(kind: str) -> None:
    constant = kind.upper().replace("-", "_")
    read = re.findall(rf'\{{"([^"]+)", SES_KIND_{constant}\}}', LIBRARY)
    assert sorted(read) == sorted([kind, *vocabulary().metric(kind).described.spellings])
    for place, name in enumerate(read):
        assert not any(later.startswith(name) for later in read[place + 1 :]), "the longer one is first"


def test_the_functions_of_the_interface_are_spellings() -> None:
    named = re.findall(r"Status (set\w+TransferRate|setCapacity)\(", INTERFACE)
    assert len(set(named)) == len(PREDICTED)
    assert sorted(vocabulary().metric(name).kind for name in set(named)) == sorted(PREDICTED)


def test_no_spelling_stands_for_two_kinds() -> None:
    spelled = [
        spelling.lower()
        for metric in vocabulary().metrics.values()
        for spelling in (metric.kind, *metric.described.spellings)
    ]
    assert len(spelled) == len(set(spelled))
