"""Tools: which file a command's first word means, its hash, and what a box must show for it to work.

Resolved outside the box, once, so that hiding the home cannot silently change which `python3` is meant.
A prefix is a folder bound read-only; the rules here keep whole homes and folders with secrets from being one.
How they are bound lives in `bubblewrap`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import ToolRow
from ralph.errors import UserError
from ralph.shell.files.paths import covers
from ralph.shell.files.write_whole import write_whole
from ralph.shell.sandbox.own_env import only_ours

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/nix", "/gnu", "/snap")
# Below the home: folders that hold programs and nothing private. A tool in one of them needs all of it.
ROOTS = (
    ".pyenv", ".nvm", ".asdf", ".volta", ".bun", ".deno", ".rbenv", ".nodenv", ".goenv", ".sdkman", ".rustup",
    ".linuxbrew", ".juliaup", ".ghcup", ".npm-global", ".fnm", ".nodebrew", ".local/share/uv",
    ".local/share/pipx", ".local/pipx", ".local/share/mise", ".local/share/fnm", ".local/share/pnpm",
    ".local/share/claude", ".local/lib", "go/pkg", "sdk", "miniconda3", "anaconda3", "miniforge3",
)  # fmt: skip
# Bound as they are, without what lies beside them (credentials.toml beside .cargo/bin, and the like).
BIN_ONLY = (".local/bin", "bin", ".cargo/bin", "go/bin", ".dotnet/tools", ".yarn/bin", ".npm/bin")
TOO_WIDE = (
    *("Desktop", "Documents", "Downloads", ".config", ".local", ".local/share", ".cache", ".cargo"),
    "go",
)
SECRET = (
    *(".ssh", ".aws", ".gnupg", ".netrc", ".env", "credentials", "credentials.toml", "id_rsa"),
    "id_ed25519",
)
MAX_DEPTH = 8
LARGE = 16 << 20  # bytes of a program that takes long to hash
MAX_KEPT = 50


def install_line(word: str) -> str:
    """The command that installs a program; "" where nobody knows one."""
    return toolchains().tools.get(os.path.basename(word), ToolRow()).install


OURS = "it was found only in Ralph's own environment, which is not your project's"


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A command's first word, found."""

    word: str
    path: str  # absolute, as PATH names it
    real: str  # after all links
    sha256: str
    in_repo: bool  # stands in the repository: inside the box it is the judged tree's file
    prefixes: tuple[str, ...]


class MissingTool(msgspec.Struct, frozen=True, kw_only=True):
    """A command's first word, not found: a value, because a gate that cannot run is a verdict."""

    word: str
    why: str
    hint: str  # a command to install it, or empty


Hashes = dict[tuple[str, int, int, int, int], str]


class ToolMemory:
    """What one stint has learnt about tools; an answer holds until the file or a folder of PATH changes."""

    def __init__(self, kept: str = "") -> None:
        self.kept = kept  # file for the hashes of large programs, which the next stint needs again
        self.hashes: Hashes = _read_hashes(kept) if kept else {}
        self._answers: dict[tuple[str, ...], tuple[object, tuple[str, ...]]] = {}

    def recall(
        self, executable: str, path: str, home: str, repo: str, find_out: Callable[[], tuple[str, ...]]
    ) -> tuple[str, ...]:
        key = (executable, path, home, repo)
        stamp = tuple(map(_stamp, (executable, *path.split(os.pathsep))))
        if key not in self._answers or self._answers[key][0] != stamp:
            self._answers[key] = (stamp, find_out())
        return self._answers[key][1]

    def file_hash(self, path: str) -> str:
        known = len(self.hashes)
        found = file_hash(path, self.hashes)
        if self.kept and len(self.hashes) > known and os.stat(path).st_size >= LARGE:
            _write_hashes(self.kept, self.hashes)
        return found


def _read_hashes(file: str) -> Hashes:
    try:
        with open(file, "rb") as kept:
            rows = msgspec.json.decode(kept.read(1 << 20), type=list[tuple[str, int, int, int, int, str]])
    except (OSError, msgspec.DecodeError):
        return {}  # a cache: what is not there is hashed again
    return {row[:5]: row[5] for row in rows}


def _write_hashes(file: str, hashes: Hashes) -> None:
    rows = [(*key, value) for key, value in hashes.items() if key[3] >= LARGE][-MAX_KEPT:]
    with suppress(OSError):
        write_whole(file, msgspec.json.encode(rows))


def resolve(
    word: str, *, path: str, cwd: str, repo: str, home: str, known: ToolMemory | None = None
) -> Tool | MissingTool:
    """Find `word` as a shell in `cwd` would, on `path`."""
    found = find_executable(word, path=path, cwd=cwd)
    if found is None:
        there = "/" in word and os.path.exists(os.path.join(cwd, word))
        why = "it is not executable" if there else "it does not exist" if "/" in word else "it is not on PATH"
        fix = f"chmod +x {word}" if there else install_line(word)
        if only_ours(word, repo):
            why = OURS
        return MissingTool(word=word, why=why, hint=fix)
    real = os.path.realpath(found)
    return Tool(
        word=word,
        path=found,
        real=real,
        sha256=known.file_hash(real) if known else file_hash(real, {}),
        in_repo=covers(repo, found),
        prefixes=prefixes(found, path=path, home=home, repo=repo, known=known),
    )


def find_executable(word: str, *, path: str, cwd: str) -> str | None:
    """The absolute path of an executable file, links not followed."""
    if "/" in word:
        candidates = [os.path.join(cwd, word)]
    else:
        candidates = [os.path.join(part, word) for part in path.split(os.pathsep) if os.path.isabs(part)]
    for candidate in candidates:
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    return None


def file_hash(path: str, cache: Hashes) -> str:
    """sha256 of a file; `cache` belongs to the caller and is keyed by all that a change moves."""
    stat = os.stat(path)
    key = (path, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
    if key not in cache:
        with open(path, "rb") as file:
            cache[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return cache[key]


def prefixes(
    executable: str, *, path: str, home: str, repo: str, known: ToolMemory | None = None
) -> tuple[str, ...]:
    """Every folder (or file) that a box must show for `executable` to work; system ones left out."""
    if known is not None:
        return known.recall(
            executable, path, home, repo, lambda: prefixes(executable, path=path, home=home, repo=repo)
        )
    found = {p for file in _needed_files(executable, path, MAX_DEPTH) for p in _prefix_of(file, home)}
    return tuple(sorted(p for p in found if not covers(repo, p)))


def closed_way(points: Iterable[str], files: Iterable[str], path: str) -> str:
    """What only root may reach in folders of the system: a mount point, or a file with all that runs it.

    Not below /usr, which another user gets mapped (`bubblewrap`).
    """
    files = filter(os.path.isabs, files)
    needed = {one for file in files for one in _needed_files(file, path, MAX_DEPTH)}
    for place in (*points, *needed):
        for name in (place, os.path.realpath(place)):
            ways = [name[: at.start()] for at in re.finditer("(?<=.)/", name)]
            if _in_system(name) and not covers("/usr", name) and os.path.exists(name):
                mode, folder = os.stat(name).st_mode, os.path.isdir(name)
                asked = 0 if place not in needed else 1 if folder else 4 | mode >> 6 & 1
                if mode & asked != asked or not all(os.stat(way).st_mode & 1 for way in ways):
                    return place
    return ""


def path_prefixes(path: str, *, home: str, repo: str, known: ToolMemory | None = None) -> tuple[str, ...]:
    """What PATH itself needs: its folders outside the system, their roots, and where links in them lead.

    Without this a gate that calls `python3` through `make` would silently get another one inside.
    """
    if known is not None:
        return known.recall("", path, home, repo, lambda: path_prefixes(path, home=home, repo=repo))
    found: set[str] = set()
    for part in path.split(os.pathsep):
        if not os.path.isabs(part) or not os.path.isdir(part) or _in_system(part) or covers(repo, part):
            continue
        root = known_root(part, home)
        if root:
            found.add(root)
            continue
        if not _too_wide(part, home):
            found.add(os.path.normpath(part))
            for name in sorted(os.listdir(part))[:500]:
                link = os.path.join(part, name)
                needed = _needed_files(link, path, 3) if os.path.islink(link) else ()
                found.update(p for file in needed for p in _prefix_of(file, home))
    return tuple(sorted(p for p in found if not covers(repo, p)))


def known_root(path: str, home: str) -> str | None:
    """The toolchain root below the home that `path` belongs to."""
    for name in ROOTS:
        root = os.path.join(home, name)
        if covers(root, path):
            return root
    return None


def _needed_files(executable: str, path: str, depth: int) -> set[str]:
    """It, where its links lead one by one, a virtual environment's base, the interpreter that it names."""
    if depth == 0 or not os.path.lexists(executable):
        return set()
    after = [*_shebang(executable, path), *filter(None, [_venv_base(executable)])]
    if os.path.islink(executable):
        target = os.path.join(os.path.dirname(executable), os.readlink(executable))
        after += {os.path.normpath(target), os.path.realpath(executable)}
    return {executable}.union(*(_needed_files(one, path, depth - 1) for one in after))


def _prefix_of(executable: str, home: str) -> set[str]:
    if _in_system(executable):
        return set()
    root = known_root(executable, home)
    if root:
        return {root}
    folder = os.path.dirname(executable)
    if "/node_modules/" in executable:
        top = executable[: executable.index("/node_modules/")] + "/node_modules"
        return {top, executable} if covers(folder, top) else {top}
    if any(folder == os.path.join(home, name) for name in BIN_ONLY):
        return {folder}
    if os.path.basename(folder) in {"bin", "sbin"} and not _too_wide(os.path.dirname(folder), home):
        return {os.path.dirname(folder)}
    return {executable} if _too_wide(folder, home) else {folder}


def _too_wide(folder: str, home: str) -> bool:
    """Folders that hold more than a program: the home, what contains it, and the usual drawers in it."""
    shallow = folder.count("/") < 2  # "/data" is nobody's tool prefix; "/data/tools" may be
    if shallow or covers(folder, home) or folder == "/var/tmp":  # noqa: S108
        return True
    if any(folder == os.path.join(home, name) for name in TOO_WIDE):
        return True
    return any(os.path.lexists(os.path.join(folder, name)) for name in SECRET)


def _venv_base(executable: str) -> str | None:
    """The interpreter that a virtual environment rests on."""
    config = os.path.join(os.path.dirname(os.path.dirname(executable)), "pyvenv.cfg")
    try:
        with open(config, encoding="utf-8", errors="replace") as file:
            lines = dict(line.split("=", 1) for line in file if "=" in line)
    except OSError:
        return None
    base = next((value.strip() for key, value in lines.items() if key.strip() == "home"), "")
    python = os.path.join(base, "python3")
    return python if base and os.path.exists(python) else None


def _shebang(executable: str, path: str) -> list[str]:
    try:
        with open(executable, "rb") as file:
            line = file.readline(512)
    except OSError:
        return []
    if not line.startswith(b"#!"):
        return []
    words = line[2:].decode("utf-8", "replace").split()
    if words and os.path.basename(words[0]) == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]
        return [words[0], *(f for n in names if (f := find_executable(n, path=path, cwd="/")))]
    return words[:1]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _in_system(path: str) -> bool:
    return any(covers(top, path) for top in SYSTEM)


def refuse_system_paths(paths: Iterable[str]) -> None:
    """Stop before a path that no box may make writable."""
    for path in paths:
        if path in ("/", "/lib32", "/libx32", *SYSTEM) or path.split("/")[1] in {"proc", "dev", "sys"}:
            raise UserError(
                f'"{path}" cannot be made writable in a box',
                code="E-BOX-PATH",
                why="it belongs to the system; expected a folder of yours",
                next="ralph loop --help",
            )
