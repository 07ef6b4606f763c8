"""A team of two vendors' CLIs: one writes tests and reviews, the other the code, under one proof."""

import base64
import json

import kit
import pytest
from featurekit import FEATURE, POWER, one_test
from realkit import BLOCK, MODELS_ASKED, TOKENS, World

from ralph.core.model.events import JudgeEnded, RoleEnded

pytestmark = [pytest.mark.slow, pytest.mark.agents]
TESTS = one_test("self.assertEqual(calc.power(2, 3), 8)")


def put(path, text):
    return {"bash": f"echo {base64.b64encode(text.encode()).decode()} | base64 -d > {path}"}


def review(*problems):
    found = [{"problem": problem, "where": "calc.py:1", "how": "read it"} for problem in problems]
    return {"say": json.dumps({"objections": found, "summary": "read it all"})}


def test_codex_tests_and_reviews_what_claude_writes(tmp_path):
    """The tester's witness gives an A, the objection holds the first result back, and costs are per role."""
    it = World(tmp_path, "claude", "codex")
    place = it.place
    place.commit("no bugs", calc__py=kit.fixed_calc())
    script = [
        put("test_power.py", TESTS),
        {"say": "The tests are written."},
        put("calc.py", kit.fixed_calc() + POWER),
        {"say": f"Done.\n\n{BLOCK}"},
        review("nothing says what power is for"),
        put("NOTES.md", "# power\n\nraises a to b\n"),
        {"say": f"Now it is said.\n\n{BLOCK}"},
        review(),
    ]
    role = f'agent = "codex"\nmodel = "{MODELS_ASKED["codex"]}"\n'
    words = ["loop", FEATURE, "--check", kit.CHECK, "--display", "plain", "--agent", "claude", "--team"]
    try:
        played = it.play(
            {"replies": script},
            [*kit.ralph_argv(), *words],
            more=f"[team.tester]\n{role}[team.reviewer]\n{role}",
            limit=300,
        )
        loop = place.expect(played.last, "verified", 0, 5)
    finally:
        place.kill_all()
    assert loop.grade == "A", loop.proof.unproven
    (tests,) = played.last.all(RoleEnded)
    assert tests.tests.paths == ("test_power.py",)
    assert [event.opinion.status for event in played.last.all(JudgeEnded)] == ["fail", "pass"]
    used = {role: (spend.calls, spend.tokens) for role, spend in loop.team.spend.items()}
    assert used == {
        "tester": (1, 2 * TOKENS),
        "coder": (2, 4 * TOKENS),
        "reviewer": (2, 2 * TOKENS),
    }
    assert [terms.agent.name for terms in loop.sealed.team.roles.values()] == ["claude", "codex", "codex"]
