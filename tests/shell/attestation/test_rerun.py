"""Gates of a statement are foreign: shown whole, known by one hash, and some are never run."""

import msgspec
import proofkit
import pytest

from ralph.core.attestation.redact import gate_entry, gate_of
from ralph.core.attestation.statement import StatedVerdict, inventory
from ralph.core.model.verdict import Counts, Reading, Verdict
from ralph.shell.attestation.rerun import Rerun, approval_for, compare_verdict, evidence_trouble, why_not_run

GATE = proofkit.tests_gate()


def test_a_sealed_gate_may_run():
    """What Ralph itself seals has no objection, with a shell and without."""
    assert not why_not_run(GATE)
    line = "cd x && pytest -q"
    assert not why_not_run(proofkit.tests_gate(run=line, argv=("/bin/sh", "-c", line)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"argv": ("sh", "-c", "evil")}, "not the command it names"),
        ({"argv": ()}, "not the command it names"),
        ({"run": "pytest 'open"}, "not the command it names"),
        ({"cwd": "../other"}, "outside of the repository"),
        ({"cwd": "/etc"}, "outside of the repository"),
        ({"env": {"LD_PRELOAD": "x.so"}}, "outside of the box"),
        ({"env": {"ld_preload": "x.so"}}, "outside of the box"),
        ({"read": "os"}, "not known"),
        ({"timeout": 1e12}, "time limit"),
        ({"timeout": -1.0}, "time limit"),
    ],
)
def test_what_no_signature_makes_acceptable(change, why):
    """These are refused whoever signed them and whatever was approved."""
    assert why in why_not_run(msgspec.structs.replace(GATE, **change))


def test_every_part_of_a_command_is_in_the_approval():
    """Network, environment, added arguments, folder, PATH and setup are shown, and each changes the hash."""
    changes = [
        {},
        {"network": True},
        {"env": {"A": "b"}},
        {"reporter": ("-p", "x")},
        {"cwd": "sub"},
        {"path": ("bin",)},
    ]
    made = [approval_for("x", [msgspec.structs.replace(GATE, **change)]) for change in changes]
    made.append(approval_for("x", [GATE], "npm ci"))
    assert len({one.hash for one in made}) == len(made)
    shown = [item.words for one in made for item in one.items]
    assert "with network" in shown[1]
    assert "A=b" in shown[2]
    assert "-p x" in shown[3]
    assert "in sub" in shown[4]
    assert "PATH begins with bin" in shown[5]
    assert shown[-1] == "setup runs npm ci (with network)"


def test_nothing_in_an_approval_is_invisible():
    """A command that would hide its end from a terminal is shown with its escapes."""
    line = "true\x1b[2K\x1b[1G rm -rf x"
    words = approval_for("x", [proofkit.tests_gate(run=line, argv=("true",))]).items[0].words
    assert words.isprintable()
    assert "rm -rf x" in words


def said(**more) -> StatedVerdict:
    reading = {"test_a": "pass", "test_b": "pass"}
    plain = {
        "gate": "tests",
        "tree": "1" * 40,
        "status": "pass",
        "summary": "2 passed",
        "cause": "",
        "exit_code": 0,
        "seconds": 0.1,
        "counts": Counts(passed=2),
        "per_test": True,
        "inventory": inventory(reading),
        "fixed": 0,
        "witnesses": 0,
        "evidence": "e" * 64,
        "reading": "f" * 64,
    }
    return StatedVerdict(**plain | more)


def again(status="pass", tests=None, passed=2, **more) -> Rerun:
    tests = {"test_a": "pass", "test_b": "pass"} if tests is None else tests
    reading = Reading(status, "", counts=Counts(passed=passed), tests=tests)
    return Rerun(GATE, Verdict("tests", "1" * 40, "final", status, **more), reading, "")


BEFORE = msgspec.json.encode(
    Reading("pass", "", counts=Counts(passed=2), tests={"test_a": "pass", "test_b": "pass"})
)


@pytest.mark.parametrize(
    ("one", "attested", "before", "state", "words"),
    [
        (again(), said(), BEFORE, "pass", "as attested"),
        (again(), said(status="fail"), None, "pass", "attested as fail"),
        (again("fail", cause="x"), said(), BEFORE, "fail", "fail here"),
        (again("error", cause="missing"), said(status="fail"), BEFORE, "fail", "error here (missing)"),
        (again("fail"), said(status="fail", counts=None), None, "pass", "fail, as attested"),
        (again(tests={"test_a": "pass", "test_b": "skipped"}), said(), BEFORE, "fail", "test_b"),
        (again(tests={"test_a": "pass"}), said(), BEFORE, "fail", "test_b"),
        (again(passed=1, tests={}), said(), None, "fail", "1 tests pass here, attested 2"),
        (again(passed=3), said(), None, "pass", "as attested"),
    ],
)
def test_a_gate_that_ran_again_is_held_against_what_was_attested(one, attested, before, state, words):
    """Worse is a failure, down to the single test; better or the same is not."""
    found = compare_verdict(one, attested, before)
    assert found[0] == state, found
    assert words in found[1]


def test_evidence_has_to_bear_out_its_verdict(tmp_path):
    """The right hash is not enough: gate, tree, command, tool, exit code and tests have to be those."""
    made = proofkit.make(tmp_path)
    verdict = made.record.loop.proof.finals["tests"]
    entry = gate_entry(GATE, {})
    from ralph.shell.state import blobs

    data = blobs.get(made.state.blobs, verdict.evidence)
    good = said(tree=verdict.tree)
    assert not evidence_trouble(data, good, entry, evidence=True)
    swapped = {**entry, "run": "true", "argv": ["true"]}
    cases = [
        (good, swapped, "another command"),
        (good, {**entry, "tool_sha": "0" * 64}, "another tool"),
        (said(tree="2" * 40), entry, "another tree"),
        (said(tree=verdict.tree, exit_code=1), entry, "exit code"),
    ]
    for attested, gate, why in cases:
        assert why in evidence_trouble(data, attested, gate, evidence=True)
    reading = blobs.get(made.state.blobs, verdict.reading)
    tests = {"test_calc.T.test_add": "pass", "test_calc.T.test_one": "pass"}
    assert not evidence_trouble(reading, said(inventory=inventory(tests)), entry, evidence=False)
    assert "other tests" in evidence_trouble(reading, said(), entry, evidence=False)
    assert "something else" in evidence_trouble(reading, said(status="fail"), entry, evidence=False)
    assert "cannot be read" in evidence_trouble(b"[]", good, entry, evidence=True)


@pytest.mark.parametrize(("more", "wrong"), [({}, False), ({"passed": 3}, True), ({"skipped": 1}, True)])
def test_what_a_verdict_says_beside_its_tests_is_not_in_a_reading(more, wrong):
    """Tests that are gone, or were red before: a verified result with waivers could not be verified again."""
    beside = {"deleted": ("test_c",), "unseen": 1, "still_red": ("test_d",)}
    attested = said(counts=Counts(**{"passed": 2, **beside, **more}))
    assert bool(evidence_trouble(BEFORE, attested, gate_entry(GATE, {}), evidence=False)) is wrong


def test_a_gate_of_another_machine_gets_this_machines_places():
    """{{repository}} and {{home}} become the places of whoever checks."""
    gate = proofkit.tests_gate(run="/home/a/app/check", argv=("/home/a/app/check",))
    entry = gate_entry(gate, {"repository": "/home/a/app", "home": "/home/a"})
    assert gate_of(entry, {"repository": "/x", "home": "/y"}).argv == ("/x/check",)
