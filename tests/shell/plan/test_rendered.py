"""The plan's file between agent and user: what waits in its place, where git ignores it, which counts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.core.model.plan.items import NAME
from ralph.errors import UserError
from ralph.shell.git.project import Project, find_project
from ralph.shell.plan.brief import FROM_SPECS, PlanAsk, brief_of
from ralph.shell.plan.read_back import MAX_LINES, is_large
from ralph.shell.plan.rendered import write_plan
from ralph.shell.plan.user_file import find_plan_file, refuse_edited

PLAN = "# Plan\n\n## High\n\n- [ ] `a`: Do a (P0, chore)\n"


def git(repo: Path, *words: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "core.hooksPath=/dev/null")
    subprocess.run(["git", *names, *words], cwd=repo, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.txt").write_text("a\n")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "--quiet", "-m", "a")
    return find_project(str(tmp_path))


@pytest.mark.parametrize("place", [NAME, f"{NAME}.ralph-new"])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_whatever_waits_for_the_plan_gives_way(tmp_path: Path, place: str, kind: str) -> None:
    """A link, folder or pipe that an agent left where the plan is written is replaced and never followed."""
    outside, space = tmp_path / "outside", tmp_path / "space"
    outside.write_text("mine\n")
    space.mkdir()
    if kind == "link":
        (space / place).symlink_to(outside)
    elif kind == "folder":
        (space / place / "deep").mkdir(parents=True)
    else:
        os.mkfifo(space / place)
    write_plan(str(space), b"plan\n")
    assert (outside.read_text(), os.listdir(space)) == ("mine\n", [NAME])
    assert (space / NAME).read_bytes() == b"plan\n"
    assert not (space / NAME).is_symlink()


def test_a_folder_that_an_agent_closed(tmp_path: Path) -> None:
    """A workspace without rights to write is opened again for the plan."""
    tmp_path.chmod(0o500)
    write_plan(str(tmp_path), b"plan\n")
    assert (tmp_path / NAME).read_bytes() == b"plan\n"


def test_how_much_of_a_plan_is_read() -> None:
    """A file with more lines than anybody plans is not read at all."""
    assert not is_large(b"- [ ] a\n" * MAX_LINES)
    assert is_large(b"- [ ] a\n" * (MAX_LINES + 1))
    assert is_large(b"x" * (4 << 20))


def test_an_ignored_plan_stays_out_of_the_result(project: Project) -> None:
    """Where git ignores the plan that is said, the result does not have it, and it can be replaced."""
    Path(project.top, ".git", "info", "exclude").write_text(f"{NAME}\n")
    told = brief_of(PlanAsk(), project, project.head, "do it", with_changes=False)
    assert told.brief is not None
    assert not told.brief.in_tree
    assert any("ignored by git" in warning for warning in told.warnings)
    Path(project.top, NAME).write_text(PLAN)
    with pytest.raises(UserError) as refused:
        refuse_edited(project, find_plan_file(project), force=False)
    assert refused.value.next == "ralph plan --force"


def test_a_task_in_words_is_planned_for(project: Project) -> None:
    """A plan that is there may be for something else: with a task, planning comes first."""
    Path(project.top, NAME).write_text(PLAN)
    asked = PlanAsk()
    given = brief_of(asked, project, project.head, "add a parser", with_changes=False)
    alone = brief_of(asked, project, project.head, FROM_SPECS, with_changes=False)
    assert given.brief is not None
    assert alone.brief is not None
    assert given.brief.planning == "a task was given, and the plan may be for another"
    assert replace(given.brief, planning="") == alone.brief
