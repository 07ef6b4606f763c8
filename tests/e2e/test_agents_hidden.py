"""Checks that the agent never sees: what a table of the visible inputs cannot pass."""

import json
import os

import pytest
from kit import agent, search_path

from ralph.core.model.events import AgentStarted
from ralph.core.prompt.facts import UNSHOWN

pytestmark = pytest.mark.slow

PROPERTY = """\
import sys
sys.path.insert(0, ".")
import calc
for a in range(-3, 9):
    for b in range(-3, 9):
        assert calc.add(a, b) == a + b, "secret-word: add"
        assert calc.mul(a, b) == a * b, "secret-word: mul"
"""


@pytest.fixture
def hidden(place, tmp_path_factory):
    """A property check in a folder of its own, outside the repository."""
    file = tmp_path_factory.mktemp("elsewhere") / "unseen_property.py"
    file.write_text(PROPERTY)
    return f"python3 {file}"


def test_special_cases_are_not_verified(place, hidden):
    """Green on every visible test is not enough, and no prompt tells what is missing."""
    done = place.loop(agent("special_cases"), "--hidden-check", hidden, "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2, says="hidden: ")
    assert not loop.landing.result
    prompts = "".join(place.prompt(event.prompt) for event in done.all(AgentStarted))
    assert UNSHOWN in prompts
    for word in ("unseen_property", "secret-word", "hidden"):
        assert word not in prompts


def test_its_files_are_hidden_wherever_they_stand(place):
    """In a folder that a box shows, an agent and other checks find neither the check nor what lies beside it.

    Nor can root, in the same box, change what the kernel does.
    """
    tools = place.top / "tools"
    checks = tools / "checks"
    checks.mkdir(parents=True)
    (checks / "unseen.py").write_text(PROPERTY)
    (checks / "answers.txt").write_text("secret-word\n")
    (tools / "known.txt").write_text("a tool's own file\n")
    unseen, answers, known = (
        str(path) for path in (checks / "unseen.py", checks / "answers.txt", tools / "known.txt")
    )
    visible = f"python3 -m unittest && test -s {known} && ! test -s {unseen} && ! test -e {answers}"
    core = "w:/proc/sys/kernel/core_pattern"
    done = place.loop(
        agent("looks_around", unseen, answers, known, core),
        *("--hidden-check", f"CHECKS={checks} && python3 $CHECKS/unseen.py && test -s {answers}"),
        check=visible,
        env={"PATH": search_path() + os.pathsep + str(tools)},
    )
    loop = place.expect(done, "verified", 0, 1)
    seen = json.loads(place.git("show", f"{loop.landing.result}:seen.json"))
    assert seen.pop(known) == "a tool's own file\n"
    assert not any(seen.values()), seen
