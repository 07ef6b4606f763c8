"""A verdict that the machine made is not a verdict: gates whose keeper or box is killed or frozen for real.

At the default number of repeats. Each gate waits a moment, so that it can be hit in the middle.
"""

import base64
import json
import os
import signal
import threading
import time
from contextlib import suppress

import pytest
from kit import agent, fixed_calc, lib

from ralph.core.model.events import GateEnded, NoVerdict

pytestmark = pytest.mark.slow

BUG = "fix the bug in add"
SLOW = "import time\nimport unittest\n\nimport calc\n\ntime.sleep(0.5)\n"


def files(**texts):
    table = {name.replace("__", "."): text for name, text in texts.items()}
    return base64.b64encode(json.dumps(table).encode()).decode()


def cases(*lines):
    body = "".join(f"        {line}\n" for line in lines)
    whole = lib.source_of_tests().replace("import unittest\n\nimport calc\n", SLOW)
    return whole.replace("    def test_sub", f"    def test_more(self):\n{body}\n    def test_sub", 1)


class Striker(threading.Thread):
    """Hits gates of a loop while they are at work, each call once, through the pids that its keeper noted."""

    def __init__(self, place, who, slot="", number=signal.SIGKILL, times=1):
        super().__init__(daemon=True)
        self._loops, self._who, self._slot = place.state / "loops", who, slot
        self._number, self._left = number, times
        self.hit, self.stop = [], False

    def run(self):
        seen = set()
        while self._left and not self.stop:
            for note in self._loops.glob(f"*/gates/{self._slot}*/keeper.json"):
                with suppress(OSError, ValueError, KeyError):
                    record = json.loads(note.read_text())
                    pid, call = record[f"{self._who}_pid"], record["marker"]
                    if call not in seen and self._left and "init_pid" in record:
                        time.sleep(0.1)  # past its start, in the middle of its work
                        os.kill(pid, self._number)
                        seen.add(call)
                        self.hit.append(note.parent.name)
                        self._left -= 1
            time.sleep(0.01)


@pytest.fixture
def struck(place):
    """`ralph …` while somebody hits its gates."""
    strikers = []

    def go(words, who, slot="", **more):
        strikers.append(Striker(place, who, slot, **more))
        strikers[-1].start()
        done = place.ralph(*words)
        strikers[-1].stop = True
        assert strikers[-1].hit, done.report()
        return done

    yield go
    for one in strikers:
        one.stop = True
        one.join(5)


def configure(place, **more):
    more = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
    (place.config / "ralph" / "config.toml").write_text(
        f'[gates.tests]\nrun = "python3 -m unittest"\nproof = true\n{more}'
    )


def loop_words(command, *flags, task=BUG):
    return ["loop", task, "--agent-cmd", command, "--display", "plain", *flags]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("who", "number", "cause"),
    [
        ("keeper", signal.SIGKILL, "keeper-lost"),
        ("child", signal.SIGKILL, "interrupted"),
        ("init", signal.SIGKILL, "interrupted"),
        ("child", signal.SIGSTOP, "frozen"),
    ],
)
def test_a_baseline_that_the_machine_made_is_none(place, struck, who, number, cause):
    """On a green base nothing is red for being killed or frozen: a comment is not accepted as the fix."""
    place.commit("no bugs", calc__py=fixed_calc(), test_calc__py=cases("pass"))
    configure(place, timeout="3s")
    words = files(calc__py=fixed_calc() + "# the bug in add is fixed\n")
    flags = ("--max-iterations", "1", "--min-grade", "B")
    command = agent("writes_files", words, "COMPLETE")
    done = struck(loop_words(command, *flags), who, "kept", number=number, times=2)
    loop = place.expect(done, "exhausted", 1, 1)
    assert [one.cause for one in done.all(NoVerdict)] == [cause, cause], done.report()
    assert loop.proof.baseline["tests"].status == "pass"


@pytest.mark.sample(test=1)
@pytest.mark.parametrize(("who", "slot"), [("keeper", "fresh"), ("child", "again0")])
def test_a_struck_judgement_of_honest_work_is_made_again(place, struck, who, slot):
    """One killed call of the final judgement changes nothing: the end is that of an undisturbed loop."""
    place.commit("slow", test_calc__py=cases("pass"))
    configure(place)
    done = struck(loop_words(agent("honest_steps", 1)), who, slot)
    place.expect(done, "verified", 0, 1, grade="A")
    assert len(done.all(NoVerdict)) == 1, done.report()


@pytest.mark.soak
def test_what_the_machine_ended_has_not_noticed_a_sabotage(place, struck):
    """A test that asserts nothing is no witness, though the calls that should tell were killed."""
    place.commit("no bugs", calc__py=fixed_calc())
    configure(place)
    power = cases("self.assertTrue(calc.power(2, 5) is None or True)").replace("CalcTest", "PowerTest")
    words = files(calc__py=fixed_calc() + "\n\ndef power(a, b):\n    return a**b\n", test_power__py=power)
    flags = ("--max-iterations", "1", "--min-grade", "B")
    command = agent("writes_files", words, "COMPLETE")
    done = struck(loop_words(command, *flags, task="add a power function"), "keeper", "broken", times=2)
    place.expect(done, "exhausted", 1, 1, says="0 of 2 sabotages were noticed")


@pytest.mark.soak
def test_verify_and_gates_run_ask_again(place, struck):
    """Where nothing is journaled a struck gate is asked again too: nothing is called red for it."""
    place.commit("slow", test_calc__py=cases("pass"))
    configure(place)
    done = place.ralph(*loop_words(agent("honest_steps", 1)))
    loop = place.expect(done, "verified", 0, 1, grade="A")
    done = struck(["verify", loop.sealed.loop], "keeper", times=2)
    assert done.code == 0, done.report()
    done = struck(["gates", "run", "--base"], "child", times=2)
    assert "2 failed, 2 passed" in done.text, done.report()


@pytest.mark.soak
def test_a_gate_that_is_struck_each_time_pauses_the_loop(place, struck):
    """Three times no answer: a pause that says why and what to do next; a resume judges the same tree."""
    place.commit("slow", test_calc__py=cases("pass"))
    configure(place)
    done = struck(loop_words(agent("honest_steps", 1)), "keeper", "fresh", times=3)
    loop = place.expect(done, None, 1, 1, says="the work is not the cause")
    assert (loop.phase, loop.progress.recent, loop.progress.integrity_hits) == ("paused", (), 0)
    assert "ralph resume 1 " in done.text
    status = place.ralph("status", loop.sealed.loop)
    assert "gave no answer 3 times" in status.out, status.report()
    assert "ralph resume 1" in status.out
    report = place.ralph("report", loop.sealed.loop)
    assert report.out.count("gate tests: no answer: ") == 3, report.report()
    done = place.ralph("resume", loop.sealed.loop, "--display", "plain")
    place.expect(done, "verified", 0, 1, grade="A")


@pytest.mark.soak
def test_a_test_that_kills_itself_is_red(place):
    """It is the tree's own doing: judged once more to be sure, then red, at the base and afterwards."""
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    place.commit("kills itself", test_calc__py=cases(kill))
    configure(place)
    done = place.ralph(*loop_words(agent("honest_steps", 1), "--max-iterations", "1"))
    loop = place.expect(done, "exhausted", 1, 1, says="killed by signal 9")
    assert [one.doubt for one in done.all(NoVerdict)] == [True, True]
    assert {one.verdict.cause for one in done.all(GateEnded)} == {"killed"}
    assert loop.phase == "ended"


@pytest.mark.soak
def test_a_check_that_came_to_no_judgement_at_the_base_is_no_witness(place):
    """A base that kills its own check shows nothing: taking the kill out is not the fix of a bug."""
    place.commit("kills itself", calc__py="import os\nos.kill(os.getpid(), 9)\n" + fixed_calc())
    configure(place)
    words = files(calc__py=fixed_calc())
    flags = ("--max-iterations", "1", "--min-grade", "B")
    done = place.ralph(*loop_words(agent("writes_files", words, "COMPLETE"), *flags))
    place.expect(done, "exhausted", 1, 1, says="gave no result on the base")
