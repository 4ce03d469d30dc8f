"""What members of a VO state, as a proposal for the VO."""

from html import unescape

from ses_client.messages.requirements import Suggested, required


def test_what_members_state_fills_the_form_of_their_vo_and_is_not_saved(root, alice, site) -> None:
    page = "/requirements/vo/materials?suggested=1"
    assert "No kind is stated by two members" in unescape(root.get(page).text)
    revision = site.requirement_set("vo", "materials").revision
    stated = [required("free-capacity", 3, "GB")]
    site.acting("root").replace_requirements("vo", "materials", stated, revision=revision)
    wanted = required("current-write-rate", 20, "MB/s")
    site.suggested = (
        Suggested(kind=wanted.kind, unit="MB/s", members=2, least=20, middle=20, most=40, proposed=wanted),
    )
    assert "Fill in what members state" in root.get("/requirements/vo/materials").text
    filled = root.get(page).text
    assert "Nothing is saved yet" in filled
    assert 'name="kind_current_write_rate-bound" value="20"' in filled
    assert 'name="kind_free_capacity-bound" value="3"' in filled
    assert [requirement.kind for requirement in site.requirement_set("vo", "materials").requirements] == [
        "free-capacity"
    ]
    assert "Filled in from what members" not in alice.get(page).text
