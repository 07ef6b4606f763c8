"""Without a sandbox a flag does not approve what a repository wrote."""

import re

import pytest
from kit import agent

pytestmark = pytest.mark.slow

MAKEFILE = "test:\n\ttouch {mark}\n\tpython3 -m unittest\n"


def test_yes_does_not_approve_commands_of_the_repository(place):
    """`-y` stops with exit 3 and nothing executed, whoever found the command; approving its hash goes on."""
    mark = place.top / "executed"
    place.commit("check", Makefile=MAKEFILE.format(mark=mark), README__md="# calc\n\n```sh\nmake test\n```\n")
    words = ["loop", "make the tests pass", "--agent-cmd", agent("honest_steps", "1"), "--display", "plain"]
    none = [*words, "--sandbox", "none", "--max-iterations", "1"]
    for given in ([*none, "-y"], [*none, "--auto-criteria"], none):
        done = place.ralph(*given)
        assert (done.code, "E-APPROVAL" in done.text, mark.exists()) == (3, True, False), done.report()
        assert "make test" in done.text
    unboxed = {"RALPH_SANDBOX": "none"}
    for given in (["infer", "make the tests pass", "-y"], ["init", "-y"]):
        done = place.ralph(*given, env=unboxed)
        assert (done.code, mark.exists()) == (3, False), done.report()
    assert not (place.repo / "ralph.toml").exists()
    approve = re.findall(r"ralph (approve [0-9a-f]+)", place.ralph(*none, "-y").text)[-1]
    assert place.ralph(*approve.split()).code == 0
    done = place.ralph(*none, "-y")
    assert done.loop.spend.calls == 1, done.report()
    assert mark.exists()


@pytest.mark.soak
def test_yes_still_approves_what_a_box_holds(place):
    """In a box -y stands for the commands that were shown."""
    place.commit("check", Makefile="test:\n\tpython3 -m unittest\n", README__md="```sh\nmake test\n```\n")
    words = ["loop", "make the tests pass", "--agent-cmd", agent("honest_steps", "1"), "--display", "plain"]
    done = place.ralph(*words, "-y", "--max-iterations", "1")
    assert (done.code, done.loop.outcome) == (0, "verified"), done.report()
