"""Which use of a tool is refused while a session is judged: what would edit its judge, or destroy work."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from typing import Any

from ralph.core.model.order import Order
from ralph.gates.command import simple_commands, without_documents, word_set, written_files
from ralph.gates.judging_paths import matches

_ALWAYS = (".git/**", "ralph.toml", ".ralph/**")
_WRITES = re.compile(r"edit|write|create|replace|patch|delete|move|rename|notebook", re.IGNORECASE)
_PATH_KEYS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_WRAPPERS = word_set(
    "sudo env command nohup time exec xargs nice builtin if then else elif while until do ! {"
)
_WRITERS = word_set("tee truncate touch mv cp ln install dd")
_IN_PLACE = re.compile(r"-[nErszpalw0]*i|--in-place")
_SERVERS = {
    "py": ("pyright-langserver", "basedpyright-langserver", "pylsp", "ty", "ruff"),
    "ts": ("typescript-language-server", "vtsls"),
    "js": ("typescript-language-server", "vtsls"),
    "go": ("gopls",),
    "rs": ("rust-analyzer",),
    "c": ("clangd",),
    "cpp": ("clangd",),
    "java": ("jdtls",),
    "rb": ("ruby-lsp", "solargraph"),
    "php": ("intelephense", "phpactor"),
}


def why_denied(name: str, given: Any, order: Order, cwd: str) -> str:
    """Why this use of a tool is refused; "" when it is not."""
    if not isinstance(given, dict):
        return ""
    if _WRITES.search(name):
        for path in edited_paths(given):
            rule = _protected_by(path, order, cwd)
            if rule:
                return f"'{path[:200]}' is protected while Ralph judges this session ({rule})"
    command = given.get("command") or given.get("cmd") or given.get("script")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    return _why_destructive(command, order, cwd) if isinstance(command, str) else ""


def missing_server(name: str, given: Any) -> str:
    """A warning when the agent is about to ask a language server that is not installed."""
    if "lsp" not in name.lower() or not isinstance(given, dict):
        return ""
    suffix = next(iter(edited_paths(given)), "").rpartition(".")[2]
    wanted = _SERVERS.get(suffix.removesuffix("x"), ())
    if not wanted or any(map(shutil.which, wanted)):
        return ""
    return f"no language server for .{suffix} files is installed (expected one of {', '.join(wanted)})"


def edited_paths(given: dict[str, Any]) -> Iterator[str]:
    """The files that a tool's input names, as it names them."""
    for key in _PATH_KEYS:
        if isinstance(given.get(key), str):
            yield given[key]
    for value in given.values():
        if isinstance(value, str) and "*** " in value:
            yield from (one or two for one, two in _PATCHED.findall(value))


def _inside(path: str, order: Order, cwd: str) -> str | None:
    """The path in the repository; None when it leads elsewhere."""
    full = os.path.realpath(os.path.join(cwd, os.path.expanduser(path.strip())))
    inner = os.path.relpath(full, order.repo)
    return None if inner == ".." or inner.startswith("../") else inner


def _protected_by(path: str, order: Order, cwd: str) -> str:
    inner = _inside(path, order, cwd)
    if inner is None:
        return ""
    for gate in order.criterion.gates:
        if inner in gate.own_files:
            return f"it is a part of the check {gate.name}" if not gate.hidden else "it is a part of a check"
    return next((f"by {rule}" for rule in (*_ALWAYS, *order.protect) if matches(inner, rule)), "")


def _why_destructive(command: str, order: Order, cwd: str) -> str:
    command = without_documents(command[:20_000])
    for path in written_files(command):
        if rule := _protected_by(path, order, cwd):
            return f"'{path[:200]}' is protected while Ralph judges this session ({rule})"
    for words in map(_unwrap, simple_commands(command)):
        if not words:
            continue
        program, rest = os.path.basename(words[0]), words[1:]
        if program == "cd":
            cwd = os.path.join(cwd, os.path.expanduser((rest or ["~"])[0]))
        script = _script_in(program, rest)
        if script and (inner := _why_destructive(script, order, cwd)):
            return inner
        why = _why_git(rest) if program == "git" else ""
        if program in ("rm", "rmdir", "shred"):
            why = _why_rm(rest, order, cwd)
        elif program in _WRITERS or (program in ("sed", "perl") and any(map(_IN_PLACE.match, rest))):
            named = rest[-1:] if program in ("cp", "ln", "install") else rest
            named = [one[3:] for one in rest if one.startswith("of=")] if program == "dd" else named
            edits = any(_protected_by(f"{one}{below}", order, cwd) for one in named for below in ("", "/x"))
            why = "would edit what is protected while Ralph judges this session" if edits else ""
        if why:
            step = "ask the user" if "protected" in why else "edit instead, or ask the user"
            return f"`{' '.join(words)[:120]}` {why}: {step}"
    return ""


def _script_in(program: str, rest: list[str]) -> str:
    """The text that a shell is given to run."""
    if program == "eval":
        return " ".join(rest)
    pairs = itertools.pairwise(rest if program in ("bash", "sh", "zsh", "dash") else [])
    return next((text for flag, text in pairs if re.fullmatch(r"-[a-z]*c", flag)), "")


def _unwrap(words: list[str]) -> list[str]:
    """The command that `sudo`, `env A=b`, `if` and the like start."""
    while words and (os.path.basename(words[0]) in _WRAPPERS or words[0].startswith("-") or "=" in words[0]):
        words = words[1:]
    return words


def _why_git(words: list[str]) -> str:
    while words and words[0].startswith("-"):  # -C DIR, -c KEY=VALUE
        words = words[2:] if words[0] in ("-C", "-c", "--git-dir", "--work-tree") else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    flags = {one.partition("=")[0] for one in rest if one.startswith("-")}
    short = "".join(one[1:] for one in flags if not one.startswith("--"))
    everything = {".", ":/", "*", "--"} & set(rest)
    destroys = {
        "reset": bool(flags & {"--hard", "--merge", "--keep"}),
        "clean": "f" in short or "--force" in flags,
        "checkout": bool({".", ":/", "*"} & set(rest)) or "f" in short or "--force" in flags,
        "restore": bool(everything - {"--"}) and "--staged" not in flags,
        "switch": bool(flags & {"--discard-changes", "--force"}) or "f" in short,
        "push": "f" in short or any(one.startswith(("--force", "--mirror", "--delete")) for one in flags),
        "branch": "D" in short,
        "stash": rest[:1] in (["drop"], ["clear"]),
        "rm": "r" in short or "f" in short,
        "update-ref": "-d" in flags or "d" in short,
        "reflog": rest[:1] in (["expire"], ["delete"]),
        "gc": any(one.startswith("--prune") for one in rest),
        "filter-branch": True,
        "worktree": rest[:1] == ["remove"] and ("f" in short or "--force" in flags),
    }.get(verb, False)
    return "would destroy work that may not be the agent's" if destroys else ""


def _why_rm(words: list[str], order: Order, cwd: str) -> str:
    """Folders of the project may go; the project, what is above it, and what judges it may not."""
    for word in words:
        if word.startswith("-"):
            continue
        if word in ("*", "./*", ".*", "~", "/", "/*") or "$" in word:
            return "would remove more than can be seen here"
        full = os.path.realpath(os.path.join(cwd, os.path.expanduser(word.rstrip("/*") or "/")))
        home = os.path.expanduser("~")
        if any((one + os.sep).startswith(full.rstrip(os.sep) + os.sep) for one in (order.repo, home)):
            return "would remove the project or what is above it"
        if _protected_by(word, order, cwd) or _protected_by(f"{word.rstrip('/')}/x", order, cwd):
            return "would remove what is protected while Ralph judges this session"
        tests = [
            one
            for one in order.criterion.gates
            if any(own.startswith(f"{_inside(word, order, cwd)}/") for own in one.own_files)
        ]
        if tests:
            return f"would remove a part of the check {tests[0].name}"
    return ""
