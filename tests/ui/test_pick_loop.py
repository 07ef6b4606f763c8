"""Which loop a command means: numbers, ids, names and parts of them; and what leaving LOOP out stands for."""

import making
import pytest
from making import Maker, order, record_all

from ralph.app.place import loop_number
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.selection import resolve
from ralph.shell.start.prepare import slug_of
from ralph.ui.cli.pick_loop import loop_for


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A project with two verified loops and one at work, another one with one; the state directory."""
    mine, other = tmp_path / "mine", tmp_path / "other"
    for top in (mine, other):
        (top / ".git").mkdir(parents=True)
    state = record_all(
        tmp_path / "state",
        making.verified(order("login-flow-aaaaaaa1", repo=str(other))),
        making.verified(order("fix-auth-7f3a91c2", repo=str(mine))),
        making.verified(order("login-page-00000002", repo=str(mine))),
        Maker(order("docs-00000003", repo=str(mine))).begin().failing(),
    )
    monkeypatch.chdir(mine)
    return state


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", ["fix-auth-7f3a91c2"]),
        ("#2", ["login-page-00000002"]),
        ("#9", []),
        ("9", []),  # no number, and not the 9 in 7f3a91c2
        ("fix-auth-7f3a91c2", ["fix-auth-7f3a91c2"]),
        ("ralph-fix-auth-7f3a91c2", ["fix-auth-7f3a91c2"]),
        ("fix", ["fix-auth-7f3a91c2"]),
        ("auth", ["fix-auth-7f3a91c2"]),
        ("91c2", ["fix-auth-7f3a91c2"]),
        ("login", ["login-page-00000002"]),  # this repository first
        ("flow", ["login-flow-aaaaaaa1"]),
        ("0000000", ["docs-00000003", "login-page-00000002"]),
        ("nothing", []),
        ("", []),
    ],
)
def test_every_way_to_name_a_loop(here, tmp_path, text, found):
    """A number of this repository, an id, a name, or its beginning, middle or tail."""
    with read_journal(str(here)) as reader:
        assert sorted(resolve(reader, text, str(tmp_path / "mine"))) == found


def test_a_number_outside_a_repository_may_mean_several(here):
    """Numbers count in a repository: elsewhere each loop with that number is meant."""
    with read_journal(str(here)) as reader:
        assert resolve(reader, "1") == ["fix-auth-7f3a91c2", "login-flow-aaaaaaa1"]


def test_a_number_is_offered_only_where_it_may_be_typed(here, tmp_path):
    """In its own repository a loop is called by its number; elsewhere the same number is another's."""
    env = {"RALPH_STATE_DIR": str(here)}
    assert loop_number("login-page-00000002", env, str(tmp_path / "mine")) == 2
    assert loop_number("login-flow-aaaaaaa1", env, str(tmp_path / "mine")) == 0
    assert loop_number("login-page-00000002", env, str(tmp_path)) == 0


def test_what_only_looks_takes_the_newest_and_names_it(ralph, here, tmp_path, monkeypatch):
    """Without LOOP the newest loop here is shown, and it is said which one that is."""
    monkeypatch.chdir(tmp_path / "mine")
    code, out, err = ralph("logs")
    assert (code, bool(out)) == (0, True)
    assert err == "newest loop here: fix-auth-7f3a91c2\n"


def test_what_acts_takes_the_only_one_that_fits(ralph, here, tmp_path, monkeypatch):
    """Several fit: all are named and nothing happens; none fits: that is said."""
    monkeypatch.chdir(tmp_path / "mine")
    code, _, err = ralph("merge")
    assert code == 2
    assert "`ralph merge` matches 2 loops" in err
    assert "login-page-00000002" in err
    assert "fix-auth-7f3a91c2" in err
    assert "docs" not in err
    code, _, err = ralph("undo")
    assert (code, "there is no loop here to undo" in err) == (6, True)
    monkeypatch.chdir(tmp_path / "other")
    code, _, err = ralph("discard")
    assert (code, "ralph discard login-flow-aaaaaaa1 --yes" in err) == (3, True)
    assert ralph("drop")[0] == 3  # the word of before


def test_a_note_needs_no_name_where_one_loop_is_at_work(ralph, here, tmp_path, monkeypatch):
    """`ralph steer TEXT` is for the only unfinished loop; three words are not a loop and a text."""
    monkeypatch.chdir(tmp_path / "mine")
    assert loop_for("steer", None) == "docs-00000003"
    assert ralph("steer", "docs", "mind", "it")[0] == 2


@pytest.mark.parametrize(
    ("task", "slug"),
    [
        ("make the tests of the todo list pass", "make-the-tests-of-the-todo"),
        ("fix it", "fix-it"),
        ("x" * 50, "x" * 30),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", "a" * 30),
        ("", ""),
        ("äöü", ""),
    ],
)
def test_names_are_cut_at_words(task, slug):
    """A name is at most 30 characters of the task and holds no half word."""
    assert slug_of(task) == slug
