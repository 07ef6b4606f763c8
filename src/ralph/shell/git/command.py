"""One way to call git: absolute binary, scrubbed environment, configuration that cannot run code.

Here: the binary, the environment, the call itself and what its failures mean. Not here: what is asked of
git (project, gitstore, snapshot, checkout, landing). Nothing in this module ever uses a git directory
that an agent could have written to; the callers pass either the user's or one from the state directory.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ralph.errors import RalphError, SetupError, machine_error
from ralph.shell.git.child import TIMEOUT_SECONDS, GitResult, Heed, run_limited, run_whole

MIN_VERSION = (2, 35)

# Everything by which a repository's configuration makes git start another program, or write on its own.
HARMLESS: tuple[tuple[str, str], ...] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.logAllRefUpdates", "false"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("protocol.file.allow", "user"),
    ("submodule.recurse", "false"),
    ("diff.external", ""),
    ("credential.helper", ""),
    ("core.sshCommand", "false"),
)

_FIXED_ENV = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
    "LANGUAGE": "",
}
LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists")
_IDENTITY = ("Ralph", "ralph@localhost")
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


class Git(msgspec.Struct, frozen=True):
    binary: str
    version: tuple[int, ...]
    heed: Heed | None = None  # asked while a git is at work; what it raises ends that git


def find_git(path: str | None = None) -> Git:
    """The git of the user's PATH, by absolute name, or an error that says what is missing."""
    binary = shutil.which("git", path=path)
    if binary is None:
        raise SetupError(
            "git was not found", code="E-GIT-MISSING", why="no 'git' on PATH", next="ralph doctor"
        )
    binary = os.path.abspath(binary)
    try:
        text = run_whole([binary, "--version"], _bare_env(), "/").out
    except OSError as broken:
        raise _os_trouble(broken, binary, "/") from broken
    match = re.search(rb"(\d+(?:\.\d+)+)", text)
    version = tuple(int(part) for part in match.group(1).split(b".")) if match else (0,)
    if version < MIN_VERSION:
        seen = ".".join(map(str, version))
        raise SetupError(
            f"git {seen} is too old, need 2.35 or newer",
            code="E-GIT-OLD",
            at=binary,
            why="older versions lack safe directories and config from the environment",
            next="git --version",
        )
    return Git(binary=binary, version=version)


def _bare_env() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def scrubbed_env(config: Iterable[tuple[str, str]] = (), *, private: bool = False) -> dict[str, str]:
    """The caller's environment without GIT_*, with `config` on top of every configuration file.

    `private` leaves out the user's global and system files too: only the private git directory counts.
    """
    env = _bare_env()
    env.update(_FIXED_ENV)
    if private:
        env["GIT_CONFIG_GLOBAL"] = os.devnull
        env["GIT_CONFIG_SYSTEM"] = os.devnull
        env["GIT_CONFIG_NOSYSTEM"] = "1"
    count = 0
    for key, value in config:
        env[f"GIT_CONFIG_KEY_{count}"] = key
        env[f"GIT_CONFIG_VALUE_{count}"] = value
        count += 1
    env["GIT_CONFIG_COUNT"] = str(count)
    return env


def no_filters(names: Iterable[str]) -> list[tuple[str, str]]:
    """Settings that make each named filter a no-op instead of a program."""
    settings: list[tuple[str, str]] = []
    for name in names:
        settings += [(f"filter.{name}.{part}", "") for part in ("clean", "smudge", "process")]
        settings.append((f"filter.{name}.required", "false"))
    return settings


def identity_env(date: int) -> dict[str, str]:
    """Fixed name and given date (seconds since 1970), so that the same commit made twice has one id."""
    name, mail = _IDENTITY
    env: dict[str, str] = {}
    for role in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{role}_NAME"] = name
        env[f"GIT_{role}_EMAIL"] = mail
        env[f"GIT_{role}_DATE"] = f"@{max(0, date)} +0000"  # git knows no time before 1970
    return env


def run_git(
    git: Git,
    args: Sequence[str | bytes],
    *,
    env: Mapping[str, str],
    cwd: str,
    stdin: bytes = b"",
    ok: Sequence[int] | None = (0,),
    limit: int | None = None,
    hold: Sequence[int] = (),
) -> GitResult:
    """One git process. `ok=None` accepts every exit code; `limit` cuts stdout and ends git there.

    `hold` are open files that git keeps open as long as it lives, for the locks on them.
    """
    argv = [git.binary, *args]
    try:
        if limit is None:
            done = run_whole(argv, env, cwd, stdin, hold, git.heed)
            if done.code == -signal.SIGINT and not done.out and not done.err:
                # A Ctrl-C that was meant for us reached it before it was in a group of its own.
                done = run_whole(argv, env, cwd, stdin, hold, git.heed)
        else:
            done = run_limited(argv, env, cwd, limit, hold, git.heed)
    except subprocess.TimeoutExpired as slow:
        raise SetupError(
            f"git {_verb(args)} did not end within {TIMEOUT_SECONDS:.0f} s",
            code="E-GIT-TIMEOUT",
            at=cwd,
            next="ralph doctor",
        ) from slow
    except OSError as broken:
        raise _os_trouble(broken, git.binary, cwd) from broken
    if ok is not None and done.code not in ok:
        raise git_error(done, args, cwd)
    return done


def clean_text(raw: bytes, limit: int = 2000) -> str:
    """What git said, without escape sequences and other control characters."""
    return _CONTROL.sub("", raw.decode("utf-8", "replace")).strip()[:limit]


def git_error(done: GitResult, args: Sequence[str | bytes], cwd: str) -> RalphError:
    """The failure of a git call as the error whose fault it is."""
    text = clean_text(done.err)
    low = text.lower()
    if done.code == -signal.SIGBUS:  # a mapped file of git's for which the disk had no room
        low = os.strerror(errno.ENOSPC).lower()
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENOTCONN, errno.ESTALE):
        if os.strerror(number).lower() in low and (lacks := machine_error(OSError(number, text), cwd)):
            return lacks
    if "dubious ownership" in low or "unsafe repository" in low:
        return SetupError(
            f"git does not trust the owner of '{cwd}'",
            code="E-GIT-OWNER",
            at=cwd,
            why="the repository belongs to another user (git's safe.directory rule)",
            next=f"git config --global --add safe.directory '{cwd}'",
        )
    locked = LOCKED.search(text)
    if locked:
        return SetupError(
            f"git cannot lock '{locked.group(1).removesuffix('.lock')}'",
            code="E-GIT-LOCKED",
            at=os.path.join(cwd, locked.group(1)),
            why="another git is at work there, or one was killed and left its lock; "
            "when no git is at work, remove the lock and try again",
            next=f"rm '{os.path.join(cwd, locked.group(1))}'",
        )
    if done.code < 0:
        return SetupError(
            f"git {_verb(args)} was killed by {_signal(-done.code)}",
            code="E-GIT-KILLED",
            at=cwd,
            why=text or "something else on this machine ended it; nothing is lost",
            next="ralph resume --last",
        )
    return SetupError(
        f"git {_verb(args)} failed with {done.code}", code="E-GIT", at=cwd, why=text, next="ralph doctor"
    )


def _folder_gone_error(path: str) -> SetupError:
    return SetupError(
        f"the folder '{path}' is gone",
        code="E-FOLDER-GONE",
        at=path,
        why="it was removed, moved or unmounted; what Ralph recorded of its loops is still there",
        next="ralph status --all",
    )


def refuse_dead_folder(path: str, top: str) -> None:
    """Git calls a folder that does not answer "not a git repository"; asked directly, it says why."""
    try:
        os.scandir(path).close()
    except OSError as broken:
        lacks = machine_error(broken, top)
        if lacks is not None or not os.path.isdir(path):
            raise (lacks or _folder_gone_error(top)) from broken


def _os_trouble(broken: OSError, binary: str, cwd: str) -> RalphError:
    lacks = machine_error(broken, cwd)
    if lacks is not None:
        return lacks
    if not os.path.isdir(cwd):
        return _folder_gone_error(cwd)
    return SetupError(
        f"git could not be started in '{cwd}'", code="E-GIT", at=binary, why=str(broken), next="ralph doctor"
    )


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _verb(args: Sequence[str | bytes]) -> str:
    first = args[0] if args else ""
    return first if isinstance(first, str) else os.fsdecode(first)
