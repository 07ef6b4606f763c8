"""What the configuration says about proof: how often a verdict is confirmed, waivers, quarantine."""

from datetime import UTC, datetime

import pytest
from configkit import Place

from ralph.shell.config.values import check_quarantine_entry, current_quarantine

DAY = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()
HELD = "network team until 2026-11-16: the mock server is slow"
TEST = "tests/test_net.py::test_retry[a=1]"


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_confirmed_three_times_unless_said(place):
    """Three times by default, as often as the user says by file, variable or flag."""
    assert place.load().confirm == "3"
    place.own('confirm = "5"\n')
    assert place.load().confirm == "5"
    assert place.load(env={"RALPH_CONFIRM": "2"}).confirm == "2"
    assert place.load(flags={"--confirm": "1"}).confirm == "1"


@pytest.mark.parametrize(
    ("user", "asked", "held"), [("3", "5", "5"), ("3", "1", "3"), ("2", "2", "2"), ("5", "4", "5")]
)
def test_a_project_asks_for_more_and_never_for_less(place, user, asked, held):
    """A repository cannot make its own proof weaker."""
    place.own(f'confirm = "{user}"\n')
    place.project(f'confirm = "{asked}"\n')
    assert place.load().confirm == held


@pytest.mark.parametrize("value", ['"0"', '"6"', '"many"', '""', "true", "3.0", '"3 "', "[3]"])
def test_other_numbers_are_refused(place, value):
    """Once to five times; anything else is refused with the choice."""
    place.own(f"confirm = {value}\n")
    assert "one of 1, 2, 3, 4, 5" in place.refused()


def test_a_bare_number_is_what_people_write(place):
    """In a file the number may stand without quotes."""
    place.own("confirm = 5\n")
    assert place.load().confirm == "5"


@pytest.mark.parametrize("given", ["secrets", "secrets=", "secrets=  ", "=why", "", "secrets.key:src/a.py"])
def test_a_waiver_without_a_reason_is_refused(place, given):
    """--allow ID alone waives nothing: the reason is shown for ever, so there has to be one."""
    why = place.refused(flags={"--allow": (given,)})
    assert "guard ids with a reason each" in why
    assert "--allow" in why


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ("stubs=why", {"stubs": "why"}),
        ("junk.large:data/a.json=the list", {"junk.large:data/a.json": "the list"}),
        ("inventory.deleted:t.py::t[x]=moved = gone", {"inventory.deleted:t.py::t[x]": "moved = gone"}),
    ],
)
def test_a_waiver_holds_its_reason(place, given, held):
    """Ids with colons and brackets, reasons with signs of their own."""
    assert place.load(flags={"--allow": (given,)}).guards.allow == held


def test_a_quarantine_by_the_user(place):
    """A test in quarantine is named by its id, with owner, day and reason."""
    place.own(f'[guards.quarantine]\n"{TEST}" = "{HELD}"\n')
    settings = place.load()
    assert settings.guards.quarantine == {TEST: HELD}
    assert settings.origins["guards.quarantine"].layer == "user"


def test_a_quarantine_of_a_project_needs_the_user_s_word(place):
    """A repository that puts its own tests aside is not believed before it was approved."""
    place.project(f'[guards.quarantine]\n"{TEST}" = "{HELD}"\n')
    unapproved = place.load(trust=lambda _hash: False)
    assert unapproved.guards.quarantine == {}
    assert any(TEST in warning for warning in unapproved.warnings)
    approved = place.load()
    assert approved.guards.quarantine == {TEST: HELD}
    assert TEST in approved.project.approval.items[0].words
    assert approved.project.approval.items[0].waiver


def test_quarantines_add_up(place):
    """What the user and an approved project put aside is joined."""
    place.own(f'guards.quarantine."a.py::t" = "{HELD}"\n')
    place.project(f'guards.quarantine."b.py::t" = "{HELD}"\n')
    assert place.load().guards.quarantine == {"a.py::t": HELD, "b.py::t": HELD}


BAD = [
    "",
    "flaky",
    "network team: flaky",
    "network team until tomorrow: flaky",
    "network team until 2026-11-16",
    "network team until 2026-11-16:",
    "network team until 2026-11-16: ",
    " until 2026-11-16: flaky",
    "until 2026-11-16: flaky",
    "network team until 2026-13-01: flaky",
    "network team until 2026-02-30: flaky",
    "network team until 16.11.2026: flaky",
    "network team until 2026-11-16: one\ntwo",
    "x" * 81 + " until 2026-11-16: flaky",
    "network team until 2026-11-16: " + "x" * 401,
]


@pytest.mark.parametrize("said", BAD)
def test_a_quarantine_needs_owner_day_and_reason(place, said):
    """Nobody's, endless or unexplained quarantines are refused."""
    with pytest.raises(ValueError, match=r"."):
        check_quarantine_entry(said)
    place.own(f"[guards.quarantine]\n'{TEST}' = '''{said}'''\n")
    assert "OWNER until YYYY-MM-DD: reason" in place.refused()


@pytest.mark.parametrize(
    "said", [HELD, f"  {HELD} ", "team a, until friday until 2026-11-16: x", "ö until 2027-01-01: y"]
)
def test_a_quarantine_as_people_write_it(said):
    """Space around it is nobody's business."""
    assert check_quarantine_entry(said) == said.strip()


@pytest.mark.parametrize(
    ("day", "held"),
    [
        ("2026-11-15", False),
        ("2026-11-16", True),
        ("2026-11-17", True),
        ("2025-12-31", False),
        ("9999-12-31", True),
    ],
)
def test_a_quarantine_ends(day, held):
    """It holds through its last day; after that the test counts again, and that is said."""
    said = f"network team until {day}: slow"
    kept, warnings = current_quarantine({TEST: said}, DAY)
    assert kept == ({TEST: said} if held else {})
    assert (warnings == ()) is held
    if not held:
        assert TEST in warnings[0]
        assert "counts again" in warnings[0]


def test_each_quarantine_has_its_own_day():
    """One that has expired does not end another."""
    kept, warnings = current_quarantine({"b": "x until 2027-01-01: y", "a": "x until 2026-01-01: y"}, DAY)
    assert list(kept) == ["b"]
    assert len(warnings) == 1
