"""Gates besides the proof: what was red before, what must stay green, and a repository's own commands."""

import re

import pytest
from gatekit import OLD, PROOF, configure
from kit import agent

pytestmark = pytest.mark.slow


@pytest.fixture
def old_red(place):
    place.commit("old tests", test_old__py=OLD)
    configure(place, '[gates.old]\nrun = "python3 -m unittest test_old"\n')
    return place


def test_old_red_is_named_and_does_not_block(old_red):
    """What was red before and is not part of the task stays red and is said."""
    done = old_red.loop(agent("honest_steps", 1), check=PROOF)
    loop = old_red.expect(done, "verified", 0, 1, says="red as before: old")
    assert loop.proof.finals["old"].status == "fail"


@pytest.mark.soak
def test_new_red_beside_old_red_blocks(old_red):
    """One test more that is red in a gate that was red before blocks, by its name."""
    breaks = f"{agent('honest_steps', 1)}; sed -i 's/def sub(a, b):/def sub(a, b, c):/' calc.py"
    done = old_red.loop(
        breaks, "--max-iterations", "1", check="python3 -m unittest test_calc.CalcTest.test_add"
    )
    loop = old_red.expect(done, "exhausted", 1, 1)
    assert loop.proof.not_yet == ("old: 1 newly red: test_old.OldTest.test_fine",)


@pytest.mark.soak
def test_a_gate_that_was_green_stays_green(place):
    """A configured gate that the work breaks stands in the way, though the proof is green."""
    place.commit(
        "style", style__py='import sys\nsys.exit("TODO" in open("calc.py").read() and "a TODO is left")\n'
    )
    configure(place, '[gates.style]\nrun = "python3 style.py"\n')
    done = place.loop(
        f"{agent('honest_steps', 1)}; echo '# TODO' >> calc.py", "--max-iterations", "1", check=PROOF
    )
    loop = place.expect(done, "exhausted", 1, 1)
    assert len(loop.proof.not_yet) == 1
    assert loop.proof.not_yet[0].startswith("style: ")
    assert "a TODO is left" in loop.proof.not_yet[0]


@pytest.mark.soak
def test_an_advisory_gate_never_blocks(place):
    """An advisory gate is shown and no more."""
    configure(place, "[gates.mood]\nrun = \"python3 -c 'raise SystemExit(1)'\"\nrequired = false\n")
    done = place.loop(agent("honest_steps", 1), check=PROOF)
    place.expect(done, "verified", 0, 1, says="mood")


def test_approval(place):
    """Commands from a repository's own config are shown and need a word of the user, once, by hash."""
    (place.repo / "ralph.toml").write_text(f'[gates.tests]\nrun = "{PROOF}"\n')
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
    place.expect(done, "verified", 0, 1, says="ralph.toml")
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


@pytest.mark.sample(test=1)
@pytest.mark.parametrize(
    ("check", "why"),
    [
        ("python3 -m unittest discover -p nothing.py", "no tests"),
        ("sleep 30", "timeout"),
    ],
)
def test_a_check_that_cannot_be_judged_is_never_green(place, check, why):
    """Zero tests and a check over its time are errors, not passes."""
    configure(place, f'[gates.check]\nrun = "{check}"\nproof = true\ntimeout = "1s"\n')
    done = place.ralph(
        "loop",
        "make it so",
        "--agent-cmd",
        agent("honest_steps", 1),
        "--display",
        "plain",
        "--max-iterations",
        "1",
    )
    loop = place.expect(done, "exhausted", 1, 1)
    assert "could not be judged" in loop.proof.not_yet[0], loop.proof.not_yet
    assert loop.proof.baseline["check"].status == "error", why
