"""A box in the user's likeness: what judged code could go by to tell Ralph's box from a plain clone.

One of the repeats runs in it. Same walls as any gate's box; other looks: a `.git`, the machine's own name,
a home with the usual files, process numbers that do not begin at 2, a report at another path, the variables
of a shell. What is not imitated is named by the guard (`repeat`).
"""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Mapping

from ralph.shell.git.store import Store, private_call, write_git_dir

MAX_WHOLE = 5000  # files; of larger trees the clone has no contents, as one that was filtered
FIRST_PIDS = 300
_HOME = {
    ".profile": "export EDITOR=vi\n",
    ".bashrc": "alias ll='ls -l'\n",
    ".gitconfig": "[user]\n\tname = {user}\n\temail = {user}@example.com\n[init]\n\tdefaultBranch = main\n",
    ".ssh/known_hosts": "",
    ".cache/.keep": "",
    ".config/.keep": "",
    "notes.txt": "call back on Monday\n",
}
# Processes that end at once use numbers up; two shells stand above the command, as in a terminal.
_AFTER_OTHERS = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do ( : ); n=$((n - 1)); done; '
    '/bin/sh -c \'"$@"; exit $?\' sh "$@"; exit $?'
)


def user_name(env: Mapping[str, str]) -> str:
    try:
        return env.get("USER") or env.get("LOGNAME") or getpass.getuser()
    except (KeyError, OSError):
        return "user"


def host_name() -> str:
    return socket.gethostname() or "workstation"


def after_others(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command as one of many processes of its machine."""
    number = str(FIRST_PIDS + secrets.randbelow(500))
    return ("/bin/sh", "-c", _AFTER_OTHERS, "sh", number, *argv)


def report_folder() -> str:
    """Another name each time, as temporary folders of builds have."""
    return f"build-{secrets.token_hex(4)}"


def make_home(folder: str, env: Mapping[str, str]) -> str:
    for path, text in _HOME.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), mode=0o700, exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text.format(user=user_name(env)))
    return folder


def shell_env(words: Mapping[str, str], user: Mapping[str, str], cwd: str) -> dict[str, str]:
    """The gate's environment as a login shell would have it."""
    name = user_name(user)
    env = {"USER": name, "LOGNAME": name, "SHELL": "/bin/sh", "TERM": "xterm-256color", **words}
    if "TMPDIR" not in user:
        env.pop("TMPDIR", None)
    return {**env, "PWD": cwd, "SHLVL": "1", "HOSTNAME": host_name(), "_": "/usr/bin/env"}


def write_clone(store: Store, checkout: str, index: str, tree: str, files: int) -> None:
    """A `.git` beside the files: one commit that holds this tree, on a branch, with a clean index."""
    who = "Sam Miller <sam@example.com> 1700000000 +0000"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nWork on it\n".encode()
    commit = (
        private_call(store, ["hash-object", "-t", "commit", "-w", "--stdin"], stdin=text).out.decode().strip()
    )
    git = os.path.join(checkout, ".git")
    settings = [("core.bare", "false"), ("core.logAllRefUpdates", "true")]
    write_git_dir(store.project, git, settings, ref="refs/heads/main", commit=commit)
    asked = ["rev-list", "--objects", "--no-object-names", commit]
    if files > MAX_WHOLE:
        asked.insert(2, "--filter=blob:none")
    objects = private_call(store, asked).out
    private_call(store, ["pack-objects", "-q", os.path.join(git, "objects", "pack", "pack")], stdin=objects)
    with open(index, "rb") as source, open(os.path.join(git, "index"), "wb") as target:
        target.write(source.read())
