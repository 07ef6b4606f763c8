"""A comment on the issue that a loop was started for, by the command line of its forge: `gh` or `glab`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

from ralph.errors import SetupError, UserError
from ralph.shell.git.project import Project, user_call

TIMEOUT_SECONDS = 30.0
_NUMBER = re.compile(r"#?([1-9][0-9]{0,8})")
_ADDRESS = re.compile(r"https://[A-Za-z0-9.:-]{1,200}/[A-Za-z0-9._~/-]{1,300}/issues/[1-9][0-9]{0,8}")


def check_issue(text: str, project: Project, env: Mapping[str, str]) -> str:
    """The issue as it is sealed, if it is one and the program that can comment on it is there."""
    number = _NUMBER.fullmatch(text)
    if number is None and not _ADDRESS.fullmatch(text):
        raise UserError(
            f"--issue is {text[:80]!r}: expected a number, or an address such as https://github.com/o/r/issues/7",
            code="E-ISSUE",
            next="ralph loop --help",
        )
    issue = number[1] if number else text
    program = program_for(issue, remote_of(project))
    if shutil.which(program, path=env.get("PATH")) is None:
        raise SetupError(
            f"there is no '{program}', which would comment on issue {issue}",
            code="E-ISSUE-TOOL",
            next=f"{program} auth login",
        )
    return issue


def remote_of(project: Project) -> str:
    done = user_call(project, ["remote", "get-url", "origin"], ok=None)
    return done.out.decode("utf-8", "replace").strip() if done.code == 0 else ""


def program_for(issue: str, remote: str) -> str:
    """By the issue's own address, else by where the repository comes from."""
    return "glab" if "/-/issues/" in issue or (issue.isdecimal() and "gitlab" in remote) else "gh"


def comment(issue: str, text: str, project: Project, env: Mapping[str, str]) -> str:
    """Leave the comment; why not, where that was not possible."""
    program = program_for(issue, remote_of(project))
    words = (
        ["note", issue, "--message", text] if program == "glab" else ["comment", issue, "--body-file", "-"]
    )
    quiet = {"GH_PROMPT_DISABLED": "1", "NO_PROMPT": "1"}  # a program that asks would wait for ever
    try:
        done = subprocess.run(
            [shutil.which(program, path=env.get("PATH")) or program, "issue", *words],
            input=text.encode(),
            cwd=project.top,
            env={**env, **quiet},
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as trouble:
        return f"no comment on issue {issue}: {program}: {type(trouble).__name__}"
    return f"no comment on issue {issue}: {program} ended with {done.returncode}" if done.returncode else ""
