"""The tests that turned green, called by an ordinary program: first without the traces of a runner, and
where one is red then, with them. Where names, places or builds may be the reason, since the product raised
an error, the test speaks of itself or the changed code went by such things before, once more with those and
without a runner. Those that it cannot call, although it does for their runner, are named apart.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.gates.guards import files_of_tests, is_repeated, turned_green
from ralph.gates.guards._base.texts import decode, pairs
from ralph.gates.guards._breaks.plain_program import has_program, plain_program
from ralph.gates.guards._calls.again import may_go_by_place
from ralph.gates.guards._watch.judge_files import is_code
from ralph.gates.judging_paths import is_config
from ralph.gates.seal import SHELL
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import Experiment, Lab
from ralph.shell.git.trees import edited_tree

STAGE = "plain"
_MIN_SECONDS = 60.0  # it may have to be built, or to begin without a cache


def plan(lab: Lab) -> list[Experiment]:
    facts = lab.facts
    found = []
    for gate in facts.gates:
        names = turned_green(facts, gate) - {"exit"}
        if not names or not is_repeated(gate, facts.final.get(gate.name)):
            continue
        if call := _call(lab, gate, names):
            found.append(_experiment(lab, gate, names, call))
        else:
            left = lab.tried.uncalled if has_program(gate) else lab.tried.bound
            left[gate.name] = names
    return found


def _experiment(lab: Lab, gate: Gate, names: frozenset[str], call: GateCall) -> Experiment:
    doubted: set[str] = set()
    ended: set[str] = set()  # what the first program called to its end; Python's does not say

    def take(heard: Heard) -> GateCall | None:
        failed, errors = (_tests_noted(lab, gate, names, heard.marks, letter) for letter in "re")
        plain, red = lab.tried.plain, failed | errors
        if heard.call.stage == call.stage:
            plain[gate.name] = red
            _note_uncalled(lab, gate, names, heard.marks)
            ended.update(_tests_noted(lab, gate, names, heard.marks, "c"))
            doubted.update(errors - failed, _by_place(lab, gate, red))
            return _call(lab, gate, names, "dressed") if red else None
        if heard.call.stage.endswith("-named"):
            plain[gate.name] -= doubted - red
            return None
        plain[gate.name] -= red
        if ended and (silent := plain[gate.name] - _tests_noted(lab, gate, names, heard.marks, "c")):
            plain[gate.name] -= silent  # nothing to compare it with
            left = lab.tried.uncalled if has_program(gate) else lab.tried.bound
            left[gate.name] = left.get(gate.name, frozenset()) | silent
        return _call(lab, gate, names, "named") if plain[gate.name] & doubted else None

    return Experiment("repeat", [call], take, needed=True)


def _spoken(lab: Lab) -> str:
    """What changed code said at the base; documents say anything."""
    return "\n".join(pair.old for pair in pairs(lab.facts) if is_code(pair.change.before))


def _by_place(lab: Lab, gate: Gate, names: frozenset[str]) -> set[str]:
    places, spoken = files_of_tests(lab.facts, gate), _spoken(lab)
    texts = {name: decode(lab.facts.read_result(places.get(name, ""))) for name in names}
    return {one for one, text in texts.items() if may_go_by_place(one, places.get(one, ""), text, spoken)}


def _note_uncalled(lab: Lab, gate: Gate, names: frozenset[str], marks: bytes) -> None:
    """Python's program says what it has to leave out; the others say what they called to its end."""
    if gate.read in ("pytest", "unittest"):
        lab.tried.bound[gate.name] = _tests_noted(lab, gate, names, marks, "u")
        return
    called = tuple(f"{name}/" for name in _tests_noted(lab, gate, names, marks, "c"))
    left = lab.tried.uncalled if has_program(gate) else lab.tried.bound
    left[gate.name] = frozenset(name for name in names if not f"{name}/".startswith(called))


def _tests_noted(lab: Lab, gate: Gate, names: frozenset[str], marks: bytes, letter: str) -> frozenset[str]:
    """By what the program noted: a test, its function without parameters, or a file."""
    said = {line[2:] for line in marks.decode("utf-8", "replace").splitlines() if line[:2] == f"{letter} "}
    files = files_of_tests(lab.facts, gate)
    return frozenset(name for name in names if {name, name.partition("[")[0], files.get(name, "")} & said)


def _call(lab: Lab, gate: Gate, names: frozenset[str], dress: str = "") -> GateCall | None:
    facts, stage = lab.facts, f"{STAGE}-{gate.name}" + (f"-{dress}" if dress else "")
    files = files_of_tests(facts, gate)
    tests = {name: files.get(name, "") for name in names}
    gone = {change.before for change in facts.changes if change.status in "DR"}
    paths = (facts.base_paths - gone) | {change.path for change in facts.changes if change.status != "D"}
    slot = lab.judge.slot(gate, STAGE + dress)  # each in a checkout of its own: the first one moves files
    settings = {path for path in facts.base_paths if is_config(path) or path == "package.json"}
    program = plain_program(
        gate,
        tests,
        facts.read_result,
        frozenset(paths),
        lab.judge.marks_path(slot),
        dressed=dress == "dressed",
        named=dress == "named",
        spoken=_spoken(lab),
        settings={path: decode(facts.read_base(path)) for path in sorted(settings)},
    )
    if program is None:
        return None
    own = replace(
        gate,
        argv=program.argv,
        run=program.argv[-1] if program.argv[:2] == SHELL else gate.run,  # whose programs the box must have
        tool_sha=gate.tool_sha if program.argv[0] == gate.argv[0] else "",
        reporter=(),
        read="exit",
        env={**gate.env, **program.env},
        timeout=min(gate.timeout, max(lab.patience(gate), _MIN_SECONDS)),
    )
    tree = edited_tree(lab.judge.site.store, facts.tree, program.files)
    return GateCall(
        own, tree, stage, slot, share=len(names) / max(1, len(facts.final[gate.name].tests or names))
    )
