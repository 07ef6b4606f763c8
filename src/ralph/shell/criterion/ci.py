"""CI files to the commands of their verifying jobs: GitHub, Gitea, Forgejo, GitLab, CircleCI, Azure, Jenkins.

YAML is parsed, a Jenkinsfile is a program and only its literal `sh` texts are seen. What a command is for is
decided in `core.criterion.find_commands`; here only jobs and steps are walked.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from ralph.core.criterion.find_commands import CiCommand
from ralph.shell.criterion.yaml_lines import Mark, Unreadable, load

FILES = re.compile(
    r"(?:\.github|\.gitea|\.forgejo)/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|\.circleci/config\.ya?ml|Jenkinsfile"
    r"|azure-pipelines\.ya?ml|\.travis\.ya?ml|\.woodpecker\.ya?ml|\.drone\.ya?ml|bitbucket-pipelines\.ya?ml|\.cirrus\.ya?ml"
)
_GITLAB_WORDS = frozenset(
    {
        *("stages", "variables", "include", "default", "workflow", "image", "services", "cache"),
        *("before_script", "after_script"),
    }
)
_EVERY_CHANGE = frozenset({"push", "pull_request", "pull_request_target", "merge_group", "workflow_call"})
_ASIDE = re.compile(
    r"nightly|weekly|cron|sched|release|publish|deploy|bench|perf|docs?\b|fuzz|old|legacy|compat|alternative|canary"
    r"|multiple|e2e|integration|intense|downstream|upstream|experimental|coverage|mutation|miri|sanitiz|valgrind|minimal"
)
# What a condition of a job or step holds it to: another interpreter or system than the usual one.
_HOLDS = r"(?:(?<!!)(?<!! )\b(?:startsWith|endsWith|contains)\([^()]*|==\s*)'[^']*"
_ELSEWHERE = re.compile(
    _HOLDS + r"(?:pypy|graalpy|emscripten|windows|win32|macos|darwin|bsd)|!=\s*'(?:linux|ubuntu|cpython)",
    re.IGNORECASE,
)
_HERE = re.compile(_HOLDS + "(?:linux|ubuntu)", re.IGNORECASE)
_SH = re.compile(
    r"\bsh\s*\(?\s*(?:script:\s*)?(?:'''(.*?)'''|\"\"\"(.*?)\"\"\"|'([^'\n]*)'|\"([^\"\n]*)\")", re.DOTALL
)
_STAGE = re.compile(r"\bstage\s*\(\s*['\"]([^'\"\n]*)['\"]")


def commands(path: str, text: str) -> list[CiCommand]:
    """The commands of one CI file in their order. Raises Unreadable."""
    if posixpath.basename(path) == "Jenkinsfile":
        return _jenkins(path, text)
    document = load(text)
    if not isinstance(document, dict):
        return []
    if "workflows/" in path:
        return list(_actions(path, document))
    if "gitlab" in path:
        return list(_gitlab(path, document))
    return list(_any_steps(path, document, ""))


def _actions(path: str, document: dict[str, Any]) -> Iterator[CiCommand]:
    begins = document.get("on") or document.get("true")  # YAML 1.1 takes `on` for a truth
    often = {begins} if isinstance(begins, str) else set(begins or ())
    aside = (
        bool(often and not often & _EVERY_CHANGE)
        or _ASIDE.search(posixpath.basename(path).lower()) is not None
    )
    for name, job in _mapping(document.get("jobs")).items():
        if not isinstance(job, dict) or _may_fail(job):
            continue
        words = f"{name} {job.get('name', '')}" + (" deploy" if "environment" in job else "")
        folder = _folder(_mapping(_mapping(job.get("defaults")).get("run")).get("working-directory"))
        steps = job.get("steps")
        for one in steps if isinstance(steps, list) else ():
            if isinstance(one, dict) and isinstance(one.get("run"), Mark) and not _may_fail(one):
                cwd = _folder(one.get("working-directory")) or folder or "."
                away = aside or bool(_ASIDE.search(name.lower())) or _elsewhere(job) or _elsewhere(one)
                yield from _lines(path, one["run"], cwd, words, aside=away)


def _elsewhere(one: dict[str, Any]) -> bool:
    """Is it executed only by another interpreter or on another system?"""
    when = str(one.get("if", ""))
    return _ELSEWHERE.search(when) is not None and not _HERE.search(when)


def _may_fail(job: dict[str, Any]) -> bool:
    """Does CI itself not mind when this is red, or never execute it?"""
    return (
        str(job.get("continue-on-error", job.get("allow_failure", ""))) == "true" or job.get("if") == "false"
    )


def _gitlab(path: str, document: dict[str, Any]) -> Iterator[CiCommand]:
    for name, job in document.items():
        if name in _GITLAB_WORDS or name.startswith(".") or not isinstance(job, dict) or _may_fail(job):
            continue
        words = f"{name} {job.get('stage', '')}" + (" deploy" if "environment" in job else "")
        aside = job.get("when") == "manual" or _ASIDE.search(name.lower()) is not None
        script = job.get("script")
        yield from _script_list(path, script if isinstance(script, list) else [script], words, aside=aside)


def _any_steps(path: str, value: Any, name: str) -> Iterator[CiCommand]:
    """CircleCI, Azure, Travis and their like: wherever a `run`, `script` or `command` stands in a job."""
    if isinstance(value, list):
        for one in value:
            yield from _any_steps(path, one, name)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in ("run", "script", "bash", "command", "commands") and isinstance(inner, Mark):
            folder = _folder(value.get("working_directory") or value.get("workingDirectory")) or "."
            yield from _lines(path, inner, folder, name)
        elif key in ("script", "commands") and isinstance(inner, list):
            yield from _script_list(path, inner, name)
        else:
            own = key if name.count("/") < 2 else ""
            yield from _any_steps(path, inner, f"{name}/{own}" if own else name)


def _jenkins(path: str, text: str) -> list[CiCommand]:
    stages = [(hit.start(), hit.group(1)) for hit in _STAGE.finditer(text)]
    found = []
    for hit in _SH.finditer(text):
        body = next(group for group in hit.groups() if group is not None)
        stage = next((name for at, name in reversed(stages) if at < hit.start()), "")
        first = text.count("\n", 0, hit.start()) + 1
        found.append(CiCommand(run=body, where=f"{path}:{first}", job=stage))
    return found


def _lines(path: str, block: Mark, cwd: str, job: str, *, aside: bool = False) -> Iterator[CiCommand]:
    """One for each line of a block, so that each candidate names its own line."""
    joined: list[str] = []
    first = 0
    texts = str(block).splitlines()
    for text in texts:  # control flow hides what is executed: the block is given up from there on
        if re.match(r"\s*(?:if|for|while|case|until|function)\b", text):
            texts = texts[: texts.index(text)]
            break
    for number, text in enumerate(texts):
        first = first if joined else number
        joined.append(text.strip().removesuffix("\\"))
        if not text.rstrip().endswith(("\\", "&&", "||", "|")):
            where = f"{path}:{block.line + first}"
            yield CiCommand(run=" ".join(joined).strip(), where=where, cwd=cwd, job=job, aside=aside)
            joined = []
        cwd = cwd if joined else _folder_after(text, cwd)  # it counts for the lines after it


def _script_list(path: str, items: list[Any], job: str, *, aside: bool = False) -> Iterator[CiCommand]:
    """The items of one script, which are executed in one shell."""
    cwd = "."
    for one in items:
        if isinstance(one, Mark):
            yield from _lines(path, one, cwd, job, aside=aside)
            cwd = _folder_after(one, cwd)


def _folder_after(text: str, cwd: str) -> str:
    """The folder after a line that changes it."""
    hit = re.fullmatch(r"\s*(?:cd|pushd)\s+([\w./-]+)\s*", text)
    return _folder(posixpath.join(cwd, hit.group(1))) or cwd if hit else cwd


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _folder(value: Any) -> str:
    """A folder inside the repository, or "" for none or one that is only known to the CI."""
    if not isinstance(value, str) or "$" in value or value.startswith(("/", "~")):
        return ""
    path = posixpath.normpath(value)
    return "" if path.startswith("..") else path


__all__ = ["FILES", "Unreadable", "commands"]
