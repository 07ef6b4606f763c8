"""The queue of experiments: what is made, what is left out and named, what follows what."""

from math import inf

import pytest
from guardkit import PYTEST, facts_of
from msgspec.structs import replace

from ralph.core.model.verdict import Reading, Verdict
from ralph.gates.guards import CALLED, inspect
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.experiments import alone_calls
from ralph.shell.gate_run.schedule import BUDGET_WORDS, Experiment, Lab, budget_seconds, how_busy, perform

FILES = {f"t::{number}": f"tests/test_{number}.py" for number in range(10)}
GREEN = Reading("pass", "10 passed", tests=dict.fromkeys(FILES, "pass"), files=FILES)


class Script:
    """Answers every call from a table by stage, in the order in which it was wanted; None = never."""

    def __init__(self, told=None):
        self.made = []
        self._told = told or {}

    def hear(self, wanted, tree, attend):
        while wanted:
            call = wanted.pop(0)
            answer = self._told.get(call.stage, GREEN)
            if answer is None:
                return
            self.made.append(call.stage)
            yield Heard(call, answer, evidence=f"e{len(self.made)}", seconds=call.share * 10)

    def slot(self, gate, purpose):
        return f"{purpose}-{gate.name}"


def lab(script, seconds=10.0):
    facts = facts_of({}, {}, final={"tests": GREEN}, known=FILES.values(), confirm=3)
    return Lab(script, facts, {"tests": Verdict("tests", "t", "final", "pass", seconds=seconds)})


def calls(stage, *shares):
    return [GateCall(PYTEST, "t", stage, stage, share=share) for share in shares]


def experiment(guard, wanted, noted=None, **more):
    return Experiment(guard, wanted, (noted if noted is not None else []).append, **more)


@pytest.mark.parametrize(
    ("seconds", "needed", "made", "undone"),
    [
        (10.0, 1, 2, False),
        (10.0, 2, 1, True),
        (10.0, 5, 0, True),
        (1.0, 5, 2, False),  # too small to count
    ],
)
def test_a_budget_in_suite_runs(seconds, needed, made, undone):
    """Calls of about four suites fit beside a verdict, the needed ones first; what is left out is named."""
    script = Script()
    here = lab(script, seconds)
    optional = experiment("altered", calls("altered", 1.0, 1.0), what="other values")
    must = experiment("repeat", calls("final", *[1.0] * needed), needed=True)
    assert perform(here, [optional, must], lambda activity: False)
    assert (script.made.count("final"), script.made.count("altered")) == (needed, made)
    assert here.tried.undone == ({"altered": (f"other values, {BUDGET_WORDS}",)} if undone else {})
    result = {one.guard: one for one in inspect(here.facts, CALLED)}["altered"]
    assert result.applied is not undone
    assert (BUDGET_WORDS in result.summary) is undone


def test_everything_that_is_left_out_is_named():
    """Of one guard too: a second experiment that did not fit does not hide the first."""
    here = lab(Script())
    must = experiment("altered", calls("final", *[1.0] * 5), needed=True)
    names = ("in your likeness", "other values", "in your likeness")
    left = [experiment("repeat", calls(f"left{n}", 1.0), what=name) for n, name in enumerate(names)]
    assert perform(here, [must, *left], lambda activity: False)
    left_out = tuple(f"{name}, {BUDGET_WORDS}" for name in names[:2])
    assert here.tried.undone == {"repeat": left_out}


def test_luck_is_always_tried():
    """However full the budget is, one of the two boxes repeats what turned green by itself."""
    script = Script()
    base = replace(GREEN, status="fail", tests={**GREEN.tests, "t::0": "fail"})
    here = lab(script)
    here.facts = replace(here.facts, base={"tests": base})
    must = experiment("altered", calls("final", *[1.0] * 5), needed=True)
    assert perform(here, [must, *alone_calls.plan(here)], lambda activity: False)
    assert script.made.count("alone-tests") == 1
    assert here.tried.alone["tests"]


@pytest.mark.parametrize(
    ("seconds", "busy", "budget"),
    [
        (4.9, 1.0, inf),
        (5.0, 1.0, 20.0),
        (600.0, 1.0, 2400.0),
        (5.5, 4.0, inf),  # half a second, beside much other work
        (20.0, 4.0, 80.0),
    ],
)
def test_the_clock_does_not_count(seconds, busy, budget):
    """The budget goes by what the verdict took, so a busy machine leaves out no more than a quiet one."""
    finals = {"tests": Verdict("tests", "t", "final", "pass", seconds=seconds)}
    assert budget_seconds(finals, busy) == budget


@pytest.mark.parametrize(("load", "cores", "busy"), [(0.1, 2, 1), (2.0, 2, 1), (5.0, 2, 2.5), (26.0, 2, 4)])
def test_a_machine_is_busy_when_more_wants_to_run_than_can(load, cores, busy):
    """What counts is the load of a core, within bounds."""
    assert how_busy(load, cores) == busy


@pytest.mark.parametrize(("wanted", "made"), [(1, 1), (2, 2), (9, 3)])
def test_until_it_is_enough(wanted, made):
    """Beyond the budget calls are made one by one, as long as what they are for was not seen."""
    script, noted = Script(), []
    must = experiment("repeat", calls("final", *[1.0] * 4), needed=True)
    few = experiment("sabotage", calls("sabotage", 1.0, 1.0, 1.0), noted, enough=lambda: len(noted) >= wanted)
    assert perform(here := lab(script), [must, few], lambda activity: False)
    assert script.made.count("sabotage") == made
    assert here.tried.undone == {}  # it has no words: the guard tells it itself


def test_at_most_so_long():
    """After its time no further call begins, and what follows follows."""
    script = Script()
    ended = []
    few = experiment(
        "sabotage", calls("sabotage", *[0.1] * 5), max_seconds=1.5, then=lambda: ended.append(1) or []
    )
    assert perform(lab(script), [few], lambda activity: False)
    assert (script.made.count("sabotage"), ended) == (2, [1])


def test_what_follows_joins_the_queue():
    """Further calls and experiments run beside what is still waiting, and their evidence is kept by stage."""
    script, noted = Script(), []
    again = iter(calls("witness", 0.1))
    first = Experiment(
        "witness",
        calls("witness", 0.1),
        lambda heard: next(again, None),
        lambda: [experiment("sabotage", calls("sabotage", 0.1), noted)],
        needed=True,
    )
    here = lab(script)
    assert perform(here, [first, experiment("repeat", calls("final", 1.0))], lambda activity: False)
    assert script.made == ["witness", "final", "witness", "sabotage"]
    assert len(noted) == 1
    assert here.evidence == {"witness": ("e1", "e3"), "final": ("e2",), "sabotage": ("e4",)}


@pytest.mark.parametrize("cause", ["", "interrupted"])
def test_no_answer_is_no_experiment(cause):
    """Dropped by the user, or by the machine: nothing is made of what was heard so far."""
    lost = replace(GREEN, status="error", cause=cause) if cause else None
    script = Script({"altered": lost})
    here = lab(script)
    wanted = [experiment("repeat", calls("final", 1.0)), experiment("altered", calls("altered", 0.1))]
    assert not perform(here, wanted, lambda activity: False)
    assert (here.missing is not None) is bool(cause)


def test_narrowing_tells_its_share():
    """A gate that looks at one of ten files is a tenth of it; one that cannot be narrowed is whole."""
    here = lab(Script())
    assert here.narrow(replace(PYTEST, reporter=("-v",)), ["tests/test_3.py"])[1] == 0.1
    assert here.narrow(PYTEST, ["data.json"])[1] == 1.0
    call = here.call_elsewhere(PYTEST, ["tests/test_3.py"], "t", "witness")
    assert (call.slot, call.gate.timeout) == ("witness-tests", 40.0)
