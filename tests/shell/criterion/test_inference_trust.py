"""Order of trust: nothing is executed before it was shown and agreed to, and only what was shown."""

import os
import subprocess

import pytest
from infer_projects import make

from ralph.core.criterion.proposal import Check, Proposal, Trial
from ralph.core.model.verdict import Verdict
from ralph.shell.criterion import adopt, propose, yaml_lines
from ralph.shell.criterion.try_once import apply_trials, trial_of, try_proposal

PROJECT = {
    "README.md": "Run `./check.sh` hm, and:\n\n    python3 -m unittest -v\n",
    "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n",
    "Makefile": "test:\n\ttouch executed\n",
}


@pytest.fixture
def user(tmp_path):
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "RALPH_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }


def proposal(**fields):
    check = Check(
        name="test", run="pytest -q", kind="test", layer="docs", executes=fields.pop("executes", "")
    )
    base = {
        "task": "t",
        "task_class": "test-pass",
        "checks": (check,),
        "confidence": "medium",
        "reachable": "high",
    }
    return Proposal(**{**base, **fields})


def test_the_hash_covers_command_folder_and_script():
    """A changed script, folder or command is another approval."""
    one = adopt.approval_of(proposal(), "r").hash
    assert adopt.approval_of(proposal(), "elsewhere").hash == one
    assert adopt.approval_of(proposal(executes="jest"), "r").hash != one
    moved = proposal(checks=(Check(name="test", run="pytest -q", kind="test", cwd="api"),))
    assert adopt.approval_of(moved, "r").hash != one
    words = adopt.approval_of(proposal(executes="jest --ci"), "r").items[0].words
    assert "pytest -q" in words
    assert "jest --ci" in words


def test_approval_is_by_hash_and_what_was_typed_needs_none(tmp_path):
    """Only the approved proposal is approved; a command of the task itself is the user's own."""
    folder = str(tmp_path / "config")
    assert not adopt.is_approved(proposal(), folder)
    adopt.approve(proposal(), "r", folder, 1.0)
    assert adopt.is_approved(proposal(), folder)
    assert not adopt.is_approved(proposal(executes="rm x"), folder)
    typed = Check(name="check", run="rm x", kind="custom", layer="task")
    assert adopt.is_approved(proposal(checks=(typed,)), folder)


@pytest.mark.parametrize(
    ("confidence", "yes", "auto", "terminal", "decision"),
    [
        ("high", False, False, False, "adopt"),
        ("medium", False, False, False, "stop"),
        ("medium", False, False, True, "ask"),
        ("medium", True, False, False, "adopt"),
        ("medium", False, True, False, "adopt"),
        ("low", True, True, False, "stop"),
        ("low", False, False, True, "ask"),
        ("low", True, False, True, "ask"),
    ],
)
def test_rule_28(confidence, yes, auto, terminal, decision):
    """High is adopted, medium needs a yes or --auto-criteria, low never goes unattended."""
    made = proposal(confidence=confidence)
    assert adopt.decide(made, yes=yes, auto=auto, terminal=terminal) == decision


@pytest.mark.parametrize(
    ("trial", "confidence", "says"),
    [
        (Trial("test", "fail", "2 failed"), "high", ""),
        (Trial("test", "pass", "2 passed"), "high", ""),
        (Trial("test", "error", "no tests were found", "no-tests"), "medium", "must exist"),
        (Trial("test", "error", "command not found: pytest", "missing"), "low", "could not be judged"),
        (None, "low", "not tried to its end"),
    ],
)
def test_confidence_after_a_trial(trial, confidence, says):
    """A trial that could not be judged takes the ground away; a red one is what was expected."""
    made = apply_trials(proposal(), (trial,) if trial else ())
    assert made.tried
    assert made.confidence == confidence
    assert says in " ".join(made.warnings)


@pytest.mark.parametrize(
    ("summary", "most", "confidence"),
    [
        ("15 findings", 14, "medium"),
        ("15 findings, 3 of them blocking", 2, "medium"),
        ("1 finding", 0, "medium"),
        ("clean", None, "low"),
    ],
)
def test_fewer_findings_are_measured_against_the_trial(summary, most, confidence):
    """ "Fewer warnings than now" becomes a number once the base was counted; of none there are no fewer."""
    check = Check(name="lint", run="ruff check .", kind="lint", counted="findings")
    made = proposal(checks=(check,), criterion="fewer lint findings than now", reachable="medium")
    after = apply_trials(made, (trial_of(Verdict("lint", "0" * 40, "baseline", "fail", summary)),))
    assert (after.checks[0].maximum, after.confidence) == (most, confidence)
    if most is not None:
        assert after.criterion == f"fewer lint findings than now (at most {most})"


def test_a_rise_of_coverage_is_measured_against_the_trial():
    """ "Coverage increases" becomes a number once the base was measured."""
    check = Check(name="coverage", run="pytest --cov", kind="coverage", read="coverage")
    made = proposal(checks=(check,), criterion="coverage rises", reachable="medium")
    after = apply_trials(made, (Trial("coverage", "pass", "63.20 % covered", percent=63.2),))
    assert after.checks[0].minimum == 63.21
    assert after.criterion == "coverage rises to at least 63.21 %"


def test_looking_writes_and_executes_nothing(tmp_path, user):
    """`propose` leaves the repository as it is, and no state behind."""
    repo = make(tmp_path / "repo", PROJECT)
    before = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=repo, capture_output=True, check=True
    )
    made = propose("make the tests pass", cwd=str(repo), env=user)
    after = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=repo, capture_output=True, check=True
    )
    assert before.stdout == after.stdout == b""
    assert not (tmp_path / "state").exists()
    assert (made.tried, made.confidence, made.checks[0].run) == (False, "medium", "python3 -m unittest -v")


@pytest.mark.slow
def test_a_trial_executes_in_a_checkout_of_the_commit(tmp_path, user):
    """What is tried runs on the last commit, in the gate box, and leaves the work tree alone."""
    repo = make(tmp_path / "repo", PROJECT)
    (repo / "test_a.py").write_text("raise SystemExit(3)\n")
    made = propose("make the tests pass", cwd=str(repo), env=user)
    after = try_proposal(made, cwd=str(repo), env=user, token="0" * 8, now=1.0)
    assert [(one.name, one.status, one.summary) for one in after.trials] == [("test", "pass", "1 passed")]
    assert after.confidence == "high"
    assert not (repo / "executed").exists()
    assert os.listdir(tmp_path / "state" / "loops") == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 50_000,
        "a: b: c",
        "\t- x",
        "%YAML 9\n---\nx",
        "!!python/object/apply:os.system [id]\n" * 30_000,
    ],
)
def test_hostile_yaml_is_not_read(text):
    """Depth, size and nonsense end with a reason, not with a crash."""
    with pytest.raises(yaml_lines.Unreadable):
        yaml_lines.load(text)


def test_tags_and_numbers_are_only_text():
    """No tag means anything: what looks like an object, a number or a yes is text with its line."""
    made = yaml_lines.load(
        "a: !!python/object/apply:os.system ['touch x']\nb: 010\nyes: on\nrun: |\n  one\n  two\n"
    )
    assert made == {"a": ["touch x"], "b": "010", "yes": "on", "run": "one\ntwo\n"}
    assert (made["b"].line, made["run"].line) == (2, 5)


def test_large_files_and_links_are_named_or_left_out(tmp_path, user):
    """A manifest beyond the limit is not read and said so; links and vendored folders are not followed."""
    files = {
        "package.json": '{"scripts": {"test": "jest"}, "x": "' + "x" * 300_000 + '"}',
        "go.mod": "module x\n",
        "a_test.go": "package x\n",
    }
    files["node_modules/x/package.json"] = '{"scripts": {"test": "evil"}}'
    repo = make(tmp_path / "repo", files)
    os.symlink("/etc/passwd", repo / "README.md")
    subprocess.run(["git", "add", "-A"], cwd=repo, check=True)
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "y"], cwd=repo, check=True
    )
    made = propose("make the tests pass", cwd=str(repo), env=user)
    assert "package.json is larger than" in " ".join(made.warnings)
    assert made.verification_command == "go test ./..."
    assert "evil" not in str(made)
