"""Gates besides the proof: what was red before, what must stay green, and a repository's own commands."""

import re

import pytest
from gatekit import OLD, PROOF, configure
from kit import agent, fixed_calc

pytestmark = pytest.mark.slow


def test_commands_of_the_repository_are_approved_and_old_red_does_not_block(place):
    """They are shown and need a yes, once, by hash; what was red before stays red and is said."""
    place.commit("old tests", test_old__py=OLD)
    old = '[gates.old]\nrun = "python3 -m unittest test_old"\n'
    (place.repo / "ralph.toml").write_text(f'[gates.tests]\nrun = "{PROOF}"\nproof = true\n{old}')
    words = ["loop", "make the tests pass", "--agent-cmd", agent("honest_steps", 1), "--display", "plain"]
    place.forget()
    done = place.ralph(*words)
    assert done.code == 3, done.report()
    assert done.record is None
    assert PROOF in done.err
    found = re.search(r"ralph approve (\w+)", done.err)
    assert found, done.err
    assert place.ralph("approve", found.group(1)).code == 0
    done = place.ralph(*words)
    loop = place.expect(done, "verified", 0, 1, says=("ralph.toml", "red as before: old"))
    assert loop.proof.finals["old"].status == "fail"
    (place.repo / "ralph.toml").write_text('[gates.tests]\nrun = "true"\n')
    changed = place.ralph(*words)
    assert changed.code == 3, "another command was approved by the old word"


@pytest.mark.soak
def test_two_proofs(place):
    """Each check is a proof of its own, and is called by its name."""
    done = place.ralph(
        "loop", "make the tests pass", "--check", "add=python3 -m unittest test_calc.CalcTest.test_add",
        "--check", "mul=python3 -m unittest test_calc.CalcTest.test_mul",
        "--agent-cmd", agent("honest_steps", 2), "--display", "plain",
    )  # fmt: skip
    loop = place.expect(done, "verified", 0, 2)
    assert set(loop.proof.finals) == {"add", "mul"}


def test_a_check_that_cannot_be_judged_is_never_green(place):
    """Zero tests and a check over its time are errors, not passes."""
    checks = {"none": "python3 -m unittest discover -p nothing.py", "slow": "sleep 30"}
    table = '[gates.{}]\nrun = "{}"\nproof = true\ntimeout = "1s"\n'
    configure(place, "".join(table.format(*check) for check in checks.items()))
    words = ("--agent-cmd", agent("honest_steps", 1), "--display", "plain", "--max-iterations", "1")
    loop = place.expect(place.ralph("loop", "make it so", *words), "exhausted", 1, 1)
    assert ["could not be judged" in sentence for sentence in loop.proof.not_yet] == [True, True]
    assert {name: verdict.status for name, verdict in loop.proof.baseline.items()} == dict.fromkeys(
        checks, "error"
    )


@pytest.mark.soak
def test_already_green_is_nothing_to_do(place):
    """Green before any agent call: exit 6, no call, no branch, nothing signed; what else is red is named."""
    place.commit("no bugs", calc__py=fixed_calc(), test_old__py=OLD)
    configure(place, '[gates.old]\nrun = "python3 -m unittest test_old"\n')
    done = place.loop(agent("honest_steps"), check=PROOF)
    says = (
        "NOTHING_TO_DO",
        "no agent call",
        "red as before: old",
        "old (1 red: test_old.OldTest.test_broken)",
    )
    loop = place.expect(done, "satisfied", 6, 0, says=says)
    assert "VERIFIED_DONE" not in done.text
    assert "newly red" not in done.text
    assert not loop.landing.result
    assert not [path for path in place.state.rglob("*") if "attestation" in path.name and path.is_file()]
    for word, code, says in (
        ("merge", 6, "changed nothing"),
        ("resume", 6, "is satisfied, which is final"),
        ("verify", 1, "there was nothing to do"),
        ("report", 0, "NOTHING_TO_DO"),
        ("drop", 0, ""),
    ):
        after = place.ralph(word, loop.sealed.loop, *(["--yes"] if word == "drop" else []))
        assert (after.code, says in after.text, "Traceback" in after.text) == (code, True, False), (
            after.report()
        )
    assert "satisfied" in place.ralph("status", "--all").out
