"""Where people come in: notes of earlier loops, a yes before the start and before the landing."""

import json
import re

import pytest
from hookkit import Receiver
from kit import agent

from ralph.core.model import events as e

pytestmark = pytest.mark.slow
BODIES = {"sub": "a - b", "add": "a + b", "mul": "a * b"}
RIGHT = "".join(f"def {name}(a, b):\\n    return {body}\\n" for name, body in BODIES.items())
NOTES = f'sh -c \'cat > /dev/null; echo "LEARNED: tests need tea"; printf "{RIGHT}" > calc.py\''


@pytest.fixture(autouse=True)
def judged_once(place):
    place.once = True


def test_a_yes_is_waited_for_and_notes_are_handed_on(place):
    """With `approve` nothing is called and nothing lands without a person's yes, which is on record. A new
    loop is told what an earlier one learned, as data, until that is cleared or switched off.
    """
    first = place.loop(NOTES, "--loop-id", "tea-00000000")
    place.expect(first, "verified", 0, 1, untouched=False)
    listed = json.loads(place.ralph("memory", "list", "--json").out)["entries"]
    note = next(one for one in listed if one["type"] == "lesson_learned")
    assert (note["loopId"], note["lesson"], note["offered"]) == ("ralph-tea-00000000", "tests need tea", True)
    assert [one["type"] for one in listed if one != note] == ["success_pattern"]

    log, receiver = place.top / "activity", Receiver("s3cret")
    (place.config / "ralph" / "config.toml").write_text(
        f'approve = ["start", "land"]\nactivity.log = "{log}"\n[notify]\nwebhook = "{receiver.address}"\n'
        'secret_command = "echo s3cret"\non = ["blocked"]\n'
    )
    words = place.loop_words(agent("honest_steps", 1), "--loop-id", "two-00000000")
    refused = place.ralph(*words)
    assert (refused.code, "E-APPROVE-START" in refused.err) == (3, True), refused.report()
    assert place.newest().loop.spend.calls == 0
    receiver.close()
    heard = [(one["event"], one["text"], one["next"][0]) for one in receiver.got]
    assert heard == [("blocked", "paused: it waits for approval to start", "ralph approve two-00000000")]
    (row,) = [one for one in json.loads(place.ralph("status", "--json").out)["loops"] if one["approval"]]
    assert (row["loop"], row["approval"], row["next"][0]) == ("two-00000000", "start", heard[0][2])
    assert "ralph approve 2" in place.ralph("status", "two").out
    for verbs in (("resume", "two"), ("resume", "two", "-d"), ("worker", "drive", "two-00000000")):
        again = place.ralph(*verbs)
        assert again.code in (1, 3), again.report()
        assert (place.newest().loop.phase, place.newest().loop.spend.calls) == ("paused", 0)
    assert "ralph resume two-00000000" in place.ralph("approve", "two").out
    done = place.ralph("resume", "two", "--display", "plain")
    assert done.code == 0, done.report()
    (call,) = done.all(e.AgentStarted)
    told = place.prompt(call.prompt)
    fence = r"--- notes of earlier loops (\w+) begins ---\n- tests need tea\n--- notes .* \1 ends ---"
    assert re.search(fence, told), told

    assert "ralph approve 2 " in done.out
    refused = place.ralph("merge", "two")
    assert (refused.code, "E-APPROVE-LAND" in refused.err) == (3, True), refused.report()
    place.same_user()
    assert place.ralph("approve", "two").code == 0
    assert place.ralph("approve", "two").code == 6
    assert place.ralph("merge", "two").code == 0
    lines = [line.split("\t")[1] for line in log.read_text().splitlines()]
    assert lines == ["start", "approval", "end", "approval", "merge"]

    assert place.ralph("memory", "clear").code == 3
    assert place.ralph("memory", "clear", note["id"], "--yes").code == 0
    assert json.loads(place.ralph("memory", "query", "tea", "--json").out)["entries"] == []


@pytest.mark.soak
def test_memory_can_be_off(place):
    """`--memory off` tells a new loop nothing of earlier ones, and what was dropped is never told."""
    assert place.loop(NOTES, "--loop-id", "tea-00000000").code == 0
    done = place.loop(agent("honest_steps", 1), "--memory", "off")
    assert done.loop.sealed.people.memory == ()
    assert place.ralph("drop", "tea", "--yes").code == 0
    assert "tests need tea" not in place.ralph("memory", "list").out
