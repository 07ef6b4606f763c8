"""Promise: what the project says of itself reaches its backlog: its gates, folders and approvals."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.app.backlog.approve import is_approved
from ralph.app.backlog.change import add_typed, current, propose_items, set_status
from ralph.app.backlog.criteria import item_gates, lasting_commands
from ralph.app.backlog.desk import Desk, open_desk
from ralph.app.backlog.helpers import accept
from ralph.app.backlog.hook import check_push
from ralph.app.backlog.work.run import RunRequest, run_backlog
from ralph.app.start import StartRequest
from ralph.errors import NeedsHuman, SetupError, UserError
from ralph.shell.config import approvals
from ralph.shell.git.project import find_project
from ralph.shell.state.directory import config_dir

ASKED = {"ralph_loop/convergence_criteria": {"tests_pass": True, "build_passes": True}}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    git(made, "init", "-q")
    git(made, "commit", "-q", "--allow-empty", "-m", "start")
    return made


def git(top: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    done = subprocess.run(["git", *who, *words], cwd=top, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def desk_of(top: Path) -> Desk:
    home = top.parent
    env = {"RALPH_STATE_DIR": str(home / "s"), "XDG_CONFIG_HOME": str(home / "c"), "HOME": str(home)}
    return open_desk(str(top), env)


def test_configured_gates_are_the_criteria(top: Path) -> None:
    """`build_passes` and `tests_pass` mean the gates that are configured for it, all of them, wherever an
    item is judged; a project without a build is told so."""
    config = top.parent / "c" / "ralph" / "config.toml"
    config.parent.mkdir(parents=True)
    tests = '[gates.unit]\nrun = "pytest tests"\n[gates.slow]\nrun = "pytest slow"\n'
    config.write_text(tests)
    name = add_typed(desk_of(top), "", "FEAT", {"title": "T", **ASKED})
    project = find_project(str(top))
    with pytest.raises(UserError, match="cannot be checked"):
        item_gates(desk_of(top), desk_of(top).read().item(name), project, project.head)
    config.write_text(f'{tests}[gates.build]\nrun = "make all"\n')
    desk = desk_of(top)
    item = desk.read().item(name)
    wanted = {"unit": "pytest tests", "slow": "pytest slow", "build": "make all"}
    gates = item_gates(desk, item, project, project.head)
    assert gates.commands == wanted
    assert not gates.proofs
    assert not gates.others
    [(_, runs)] = lasting_commands(desk, project, project.head, [item])
    assert set(runs) == set(wanted.values())


def test_a_folder_of_the_harness_is_its_place(top: Path) -> None:
    """A project that has `.claude/harness` gets its list there; one that has nothing gets Ralph's own."""
    assert desk_of(top).place.inside == ".ralph/backlog/feature_list.json"
    (top / ".claude/harness").mkdir(parents=True)
    assert desk_of(top).place.inside == ".claude/harness/feature_list.json"
    (top / ".ralph/backlog").mkdir(parents=True)
    (top / ".ralph/backlog/feature_list.json").write_text('{"items": []}')
    assert desk_of(top).place.inside == ".ralph/backlog/feature_list.json"


def test_a_persons_change_needs_no_new_approval(top: Path) -> None:
    """What is typed is approved with what was before, also when an item is cancelled; a hand edit is not."""
    desk = desk_of(top)
    for name in ("A-1", "B-2"):
        add_typed(desk, name, "FEAT", {"title": "T", "verification": [f"test -e {name}"]})
    set_status(desk, "A-1", "CANCELLED", "not wanted")
    assert is_approved(desk, current(desk))
    file = Path(desk.place.file)
    file.write_text(file.read_text().replace("test -e B-2", "rm -rf B-2"))
    assert not is_approved(desk, current(desk))
    set_status(desk, "B-2", "BLOCKED", "looked at")
    assert not is_approved(desk, current(desk)), "and nobody approves it by the way"


def test_what_was_never_approved_is_not_passed_over(top: Path) -> None:
    """A gate of the project that nobody approved is no gate yet: an item is not judged without it, and a push
    that it would look at is stopped."""
    desk = desk_of(top)
    name = add_typed(desk, "", "FEAT", {"title": "T", "verification": ["test -e x"]})
    (top / "ralph.toml").write_text('[gates.build]\nrun = "make all"\n')
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "a backlog")
    desk = desk_of(top)
    with pytest.raises(NeedsHuman, match="approval"):
        accept(desk, name, "it was there")
    found = check_push(desk, f"refs/heads/m {git(top, 'rev-parse', 'HEAD')} refs/heads/m {'0' * 40}\n")
    [stopped] = [one for one in found if one.severity == "CRITICAL"]
    assert stopped.code == "not_approved"
    asked = stopped.message.rpartition("ralph approve ")[2]  # the step that it names is enough
    assert approvals.approve(config_dir(desk.env), asked, 0).items


def test_a_push_of_another_branch_needs_the_approval_of_its_own_prds(top: Path) -> None:
    """Commands are those of the pushed commit: the work tree's PRDs approve nothing of another branch."""
    desk = desk_of(top)
    prd = top / ".ralph/prd/FEAT-1.json"
    prd.parent.mkdir(parents=True)
    link = {"prd_reference": {"file": "FEAT-1.json"}, "verification": ["test -e x"]}
    body = (
        '{"feature_id": "FEAT-1", "title": "Title of it", "overview": "An overview that is long enough",'
        ' "functional_requirements": ["FR-1: it works"], "acceptance_criteria": ["AC-1: it is there"],'
        ' "constraints": ["run: %s"]}'
    )
    prd.write_text(body % "echo other")
    add_typed(desk, "FEAT-1", "FEAT", {"title": "T", **link})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "here")
    here = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "-b", "there")
    prd.write_text(body % "false")
    git(top, "commit", "-q", "-a", "-m", "there")
    there = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "-")
    desk = desk_of(top)
    assert is_approved(desk, current(desk))
    codes = {
        commit: [
            one.code for one in check_push(desk, f"r {commit} r {'0' * 40}\n") if one.severity == "CRITICAL"
        ]
        for commit in (here, there)
    }
    assert codes == {here: [], there: ["not_approved"]}


class Still:
    """Nothing is driven: what is begun in these tests is a failure."""

    queue = False

    def __init__(self) -> None:
        self.said: list[str] = []

    def drive(self, *_: object) -> None:
        raise AssertionError("a loop was begun")

    resume = drive

    def say(self, text: str) -> None:
        self.said.append(text)


def test_an_item_whose_tool_is_missing_is_passed_over_with_its_reason(top: Path) -> None:
    """No loop is made for it and no attempt recorded, however often it is first; by name it is an error."""
    desk = desk_of(top)
    name = add_typed(desk, "", "FEAT", {"title": "T", "verification": ["no-such-tool --check"]})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "list")
    typed = StartRequest(task="", cwd=str(top), agent_cmd="true")
    for _ in range(2):
        summary = run_backlog(desk_of(top), RunRequest(max_items=1, start=typed), Still())
        assert (summary.exit_code, list(summary.skipped)) == (3, [name])
        assert 'command not found: "no-such-tool"' in summary.skipped[name]
    with pytest.raises(SetupError, match="no-such-tool"):
        run_backlog(desk_of(top), RunRequest(item=name, start=typed), Still())
    assert desk_of(top).read().item(name).attempts == ()


def test_criteria_of_a_spec_reach_its_item_whole(top: Path) -> None:
    """Also those without an id or a title: what must be true is in their clauses."""
    (top / "specs").mkdir()
    criteria = "- Given 3 and 2 when sub then 1\n\n### SUB-1: zero\n\nGiven 0\n"
    text = f"# Subtract\n\n## Acceptance criteria\n\n{criteria}"
    (top / "specs/01-sub.md").write_text(text)
    [raw] = propose_items(desk_of(top)).items
    assert raw["acceptance_criteria"] == ["Given 3 and 2, when sub, then 1", "SUB-1: zero: Given 0"]


@pytest.mark.parametrize("run", ["python3 -c 'import x; assert x.f()'", 'test "$(cat out)" = 5'])
def test_a_command_within_a_command_can_verify_an_item(top: Path, run: str) -> None:
    """It was typed or approved as a whole, so nothing in it is hidden; what deletes things is no check."""
    desk = desk_of(top)
    project = find_project(str(top))
    for name, commands in (("A-1", [run]), ("A-2", [f"rm -rf ../x; {run}"])):
        add_typed(desk, name, "FEAT", {"title": "T", "verification": commands})
    found = desk.read()
    assert item_gates(desk, found.item("A-1"), project, project.head).proofs == {"verify-1": run}
    with pytest.raises(UserError) as refused:
        item_gates(desk, found.item("A-2"), project, project.head)
    assert "deletes" in refused.value.why
