"""`ralph prompt show` and `ralph learnings`: which call is meant, what it takes, what is offered."""

import json

import pytest
from making import Maker, order, record_all
from msgspec.structs import replace

from ralph.app.views.owed_prompt import about_to_call
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.shell.state import blobs

NAME = "fix-auth-7f3a91c2"
NONCE = "0123456789abcdef"
FIRST = f"# Task\n\nmake it\n--- output of x {NONCE} begins ---\nold\n--- output of x {NONCE} ends ---\n"
SECOND = FIRST.replace(NONCE, "fedcba9876543210").replace("old", "new \x1b[31mred")


class Told(Maker):
    """A loop whose prompts are really stored, and whose first call learned something."""

    def __init__(self, state, *texts, made=None):
        super().__init__(made)
        (state / "blobs").mkdir(parents=True, mode=0o700)
        state.chmod(0o700)
        self.texts = iter([blobs.put(str(state / "blobs"), text.encode()) for text in texts])

    def add(self, event, took=1.0):
        if isinstance(event, e.AgentStarted):
            event = replace(event, prompt=next(self.texts))
        if isinstance(event, e.AgentEnded) and event.call == 1:
            event = replace(event, learned=("use make", "password=hunter22222"))
        return super().add(event, took)


@pytest.fixture
def told(tmp_path):
    """A verified loop of two calls."""
    state = tmp_path / "state"
    return record_all(state, Told(state, FIRST, SECOND).begin().failing().passing())


def test_the_newest_prompt_and_its_parts(ralph, told):
    """The text on stdout, safe for a terminal; the table on stderr."""
    code, out, err = ralph("prompt", "show")
    assert (code, out) == (0, SECOND.replace("\x1b[31m", ""))
    assert err == (
        f"{NAME}: iteration 2, call 2; sent to command\n"
        "  Task    33  0.0%\n"
        "  in all  33  0.0%\n"
        "estimated: 3.5 ASCII characters a token, a window of 200,000; "
        "what the agent itself adds is not counted\n"
    )


def test_only_what_differs(ralph, told):
    """The marks around foreign text are new in each call and are no difference."""
    code, out, _ = ralph("prompt", "show", NAME, "--diff")
    changed = [line for line in out.split("\n") if line[:1] in ("+", "-")]
    assert (code, changed) == (0, ["--- iteration 1, call 1", "+++ iteration 2, call 2", "-old", "+new red"])


def test_one_iteration_as_json(ralph, told):
    """One object with the text, its parts and its share."""
    code, out, _ = ralph("prompt", "show", NAME, "--iteration", 1, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["v"], found["call"], found["sent"], found["text"]) == (1, 1, True, FIRST)
    assert found["parts"] == [{"title": "Task", "chars": len(FIRST), "tokens": found["tokens"]}]
    assert (found["window"], found["large"], found["diff"]) == (200_000, False, None)


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["--iteration", "1", "--diff"], 6, "is the first: there is none before it"),
        (["--iteration", "9"], 2, "has no call in iteration 9"),
    ],
)
def test_a_call_that_is_not_there(ralph, told, words, code, what):
    """What is missing is said, with the calls that there are."""
    found, out, err = ralph("prompt", "show", NAME, *words)
    assert (found, out) == (code, "")
    assert what in err


def test_a_loop_that_never_calls(ralph, tmp_path):
    """A loop that ended before its first call has no prompt to show."""
    record_all(tmp_path / "state", Maker().begin(tests="pass").finish())
    code, _, err = ralph("prompt", "show")
    assert code == 6
    assert "has called no agent and is not about to" in err


@pytest.mark.parametrize(("chars", "warned"), [(419_000, False), (421_000, True)])
def test_more_than_six_tenths_of_the_window_is_a_warning(ralph, tmp_path, chars, warned):
    """Above 60 % of the estimated window the user is warned."""
    state = tmp_path / "state"
    record_all(state, Told(state, "x" * chars, "y").begin().failing().passing())
    _, _, err = ralph("prompt", "show", "--iteration", "1")
    assert ("warning: more than 60% of the window" in err) is warned


def test_what_comes_next_in_a_loop_that_stands_still(tmp_path):
    """A paused loop is shown as its resume would find it; an ended one calls nobody."""
    maker = Maker().begin().call()
    maker.add(e.PauseAsked(reason="tea"))
    paused = maker.gates("fast", "fail", "pass").loop
    assert paused.phase == "paused"
    coming = about_to_call(paused)
    assert coming is not None
    assert coming.todo == (actions.RunAgent(iteration=2, call=2),)
    assert about_to_call(Maker().begin().failing().passing().loop) is None
    waiting = Maker(order()).begin().loop
    assert about_to_call(waiting) is waiting


def test_what_was_learned_is_shown_and_written_when_asked(ralph, tmp_path):
    """The section as it would be appended, secrets taken out; a file only with --append."""
    state, repo = tmp_path / "state", tmp_path / "app"
    repo.mkdir()
    made = order(repo=str(repo))
    record_all(state, Told(state, FIRST, SECOND, made=made).begin().failing().passing())
    code, out, _ = ralph("learnings", NAME)
    section = "## Learned\n\n- use make\n- password=[redacted]\n"
    assert (code, out) == (0, f"{section}\nkeep it in AGENTS.md: ralph learnings {NAME} --append\n")
    assert not list(repo.iterdir())
    code, out, _ = ralph("learnings", NAME, "--append")
    assert (code, out) == (0, "appended 2 notes to AGENTS.md; commit it when you agree\n")
    assert (repo / "AGENTS.md").read_text() == section
    assert ralph("learnings", NAME, "--append")[0] == 6
    assert json.loads(ralph("learnings", NAME, "--json")[1])["learned"] == ["use make", "password=[redacted]"]
    assert "### What the agents noted for later\n\n- use make\n" in ralph("report", NAME)[1]


def test_nothing_learned_is_said(ralph, tmp_path):
    """A loop without notes offers none."""
    record_all(tmp_path / "state", Maker().begin().failing().passing())
    assert ralph("learnings")[0] == 6
