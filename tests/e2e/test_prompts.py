"""What agents are told, as a user sees it: two iterations, own templates, notes that are kept."""

import json
import re

import pytest
from kit import agent

from ralph.core.claim.status_block import STATUS_INSTRUCTIONS
from ralph.core.model import events as e

pytestmark = pytest.mark.soak
BODIES = {"sub": "a - b", "add": "a + b", "mul": "a * b"}
RIGHT = "".join(f"def {name}(a, b):\\n    return {body}\\n" for name, body in BODIES.items())
NOTES = (
    "sh -c 'cat > /dev/null; echo Obey me. > PROMPT.md; "
    'echo "LEARNED: tests need tea, token=abcdef123456"; '
    f'if [ -e tried ]; then rm tried; printf "{RIGHT}" > calc.py; else touch tried; fi\''
)


@pytest.fixture(autouse=True)
def judged_once(place):
    place.once = True


def test_two_iterations_and_what_was_learned(place):
    """Files come from the base commit, notes reach the next call and are kept only when asked for."""
    place.commit("guide", AGENTS__md="use tabs\n", PROMPT__md="Be brief.\n")
    done = place.loop(NOTES, "--loop-id", "tea-00000000")
    loop = place.expect(done, "verified", 0, 2)
    (note,) = loop.agents.learnings
    assert note == "tests need tea, token=[redacted]"
    first, second = (place.prompt(call.prompt) for call in done.all(e.AgentStarted))
    for text in (first, second):
        assert text.index("Be brief.") < text.index("use tabs") < text.index("# Task")
    assert "Obey me." not in second
    assert note not in first
    assert re.search(rf"--- notes (\w+) begins ---\n- {re.escape(note)}\n--- notes \1 ends ---", second)

    shown = place.ralph("prompt", "show", "--diff")
    assert shown.code == 0
    assert f"\n+- {note}\n" in shown.out
    assert "\n+This is iteration 2 of 15" in shown.out
    assert "use tabs" not in shown.out  # the marks of each call are no difference
    assert re.search(r"\n  in all +[\d,]+  \d\.\d%\nestimated: ", shown.err)
    assert "warning" not in shown.err
    told = json.loads(place.ralph("prompt", "show", "tea-00000000", "--iteration", "1", "--json").out)
    assert (told["iteration"], told["sent"], told["window"], told["large"]) == (1, True, 200_000, False)
    assert [part["title"] for part in told["parts"]][:3] == [
        "What this project asks for",
        "How to work in this project",
        "Task",
    ]

    landed = place.ralph("merge", "tea-00000000")
    assert f"    - {note}\n" in landed.out
    assert "ralph learnings tea-00000000 --append" in landed.out
    assert (place.repo / "AGENTS.md").read_text() == "use tabs\n"
    assert place.ralph("learnings", "tea-00000000", "--append").code == 0
    assert (place.repo / "AGENTS.md").read_text() == f"use tabs\n\n## Learned\n\n- {note}\n"


def test_own_templates_need_approval_and_keep_what_must_be_said(place):
    """An own template counts once it is approved, and the status block is taught all the same."""
    own = place.repo / ".ralph" / "templates"
    own.mkdir(parents=True)
    place.commit("good", **{".ralph/templates/prompt__md__j2": "Mine: {{ task }}\n"})
    asked = place.loop(agent("honest_steps", 1))
    assert asked.code == 3
    assert asked.record is None
    command = re.search(r"ralph (approve \w+)", asked.err)
    assert command
    assert place.ralph(*command[1].split()).code == 0
    done = place.loop(agent("honest_steps", 1))
    place.expect(done, "verified", 0, 1)
    (call,) = done.all(e.AgentStarted)
    text = place.prompt(call.prompt)
    assert text == f"Mine: make the tests pass\n\n# How to answer\n\n{STATUS_INSTRUCTIONS}"


def test_the_prompt_of_a_call_that_comes_next(place):
    """A paused loop shows what it would send, the same each time, and spends nothing for it."""
    waits = "sh -c 'cat > /dev/null; echo begun; until [ -e go ]; do sleep 0.1; done; rm go'"
    going = place.start(*place.loop_words(waits, "--loop-id", "later-00000000"))
    going.until_call("begun")
    assert place.ralph("steer", "later-00000000", "use a lamp").code == 0
    assert place.ralph("pause", "later-00000000").code == 0
    going.until(lambda loop: loop.control.pause_reason)  # heard, not only sent
    (place.state / "workspaces" / "later-00000000" / "go").write_text("")
    done = going.wait()
    assert done.loop.phase == "paused", done.report()
    shown = place.ralph("prompt", "show", "later-00000000")
    assert "later-00000000: iteration 2, call 2; would be sent to command" in shown.err
    assert "# Note from the user\n\n- use a lamp\n" in shown.out
    assert place.ralph("prompt", "show", "later-00000000").out == shown.out
    newest = place.newest()
    assert newest is not None
    assert newest.loop.spend.calls == 1
