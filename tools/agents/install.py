"""Install the pinned agent CLIs into a cache, and print where each program is.

    python tools/agents/install.py [NAME…] [--main] [--where]

Each goes into a folder of its own, named after its pin, built beside it and renamed when whole: two at once,
or a kill in the middle, leave nothing or a working program. What is there already is not touched.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
Pin = dict[str, Any]


class InstallError(Exception):
    """An agent could not be installed; the text says which and why."""


def pins(path: str = os.path.join(HERE, "versions.toml")) -> dict[str, Pin]:
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    with open(path, encoding="utf-8") as file:
        return tomllib.loads(file.read().replace("{arch}", arch))


def cache() -> str:
    """$RALPH_AGENTS_CACHE, else the user's cache folder."""
    chosen = os.environ.get("RALPH_AGENTS_CACHE")
    if chosen:
        return os.path.abspath(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "ralph-agents")


def folder(name: str, pin: Pin) -> str:
    """The folder of exactly this pin: any change in its row is another installation."""
    mark = hashlib.sha256(json.dumps(pin, sort_keys=True).encode()).hexdigest()[:8]
    return os.path.join(cache(), f"{name}-{pin['version']}-{mark}")


def program(name: str, pin: Pin) -> str:
    return os.path.join(folder(name, pin), "start", name)


def _command(argv: list[str], what: str, env: dict[str, str] | None = None) -> str:
    made = subprocess.run(
        argv, check=False, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL
    )
    if made.returncode != 0:
        raise InstallError(f"{what}: exit {made.returncode}\n{(made.stderr or made.stdout)[-2000:]}")
    return made.stdout or made.stderr  # pi says its version there


def _uv() -> str:
    found = shutil.which("uv") or os.path.join(os.path.dirname(sys.executable), "uv")
    if not os.path.exists(found):
        raise InstallError("uv is missing: run `make setup` first")
    return found


def _uv_pip(target: list[str], wanted: list[str], draft: str, what: str) -> None:
    # The private cache lies on the same disk: files are linked into place instead of written twice.
    env = {**os.environ, "UV_LINK_MODE": "hardlink"}
    argv = [_uv(), "pip", "install", "--quiet", "--cache-dir", f"{draft}/.uv", *target, *wanted]
    _command(argv, what, env)
    shutil.rmtree(f"{draft}/.uv", ignore_errors=True)


def _fetch(name: str, pin: Pin, draft: str) -> None:
    """Bring the files of one pin into an empty folder."""
    if "wheel" in pin:
        target = ["--python", sys.executable, "--no-deps", "--target", draft]
        _uv_pip(target, [pin["wheel"]], draft, name)
    elif "python" in pin:
        _command(
            [_uv(), "venv", "--quiet", "--relocatable", "--python", sys.executable, "--clear", draft], name
        )
        _uv_pip(["--python", f"{draft}/bin/python", "--compile-bytecode"], pin["python"], draft, name)
    else:
        node = ensure("node")
        npm = os.path.join(os.path.dirname(os.path.realpath(node)), "../lib/node_modules/npm/bin/npm-cli.js")
        quiet = ["--no-audit", "--no-fund", "--no-save", "--no-package-lock", "--loglevel=error"]
        argv = [
            node,
            npm,
            "install",
            "--ignore-scripts",
            *quiet,
            "--cache",
            f"{draft}/.npm",
            "--prefix",
            draft,
        ]
        path = os.pathsep.join([os.path.dirname(os.path.realpath(node)), os.environ.get("PATH", os.defpath)])
        _command([*argv, pin["npm"]], name, {**os.environ, "PATH": path})
        shutil.rmtree(f"{draft}/.npm", ignore_errors=True)


def _link(name: str, pin: Pin, draft: str) -> None:
    """`start/NAME`: alone in its folder, which can go on a PATH. Relative, so that the cache can move."""
    os.makedirs(f"{draft}/start")
    if not os.path.exists(f"{draft}/{pin['program']}"):
        raise InstallError(f"{name}: the package has no {pin['program']}")
    start = f"{draft}/start/{name}"
    if not pin.get("node"):
        os.symlink(f"../{pin['program']}", start)
        return
    node = pins()["node"]
    beside = f"{os.path.basename(folder('node', node))}/{node['program']}"
    with open(start, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nhere=$(dirname -- "$(realpath -- "$0")")\n')
        # Its own children find the same Node, whatever the machine has.
        file.write(f'PATH="$here/../../{os.path.dirname(beside)}:$PATH"; export PATH\n')
        file.write(f'exec "$here/../../{beside}" "$here/../{pin["program"]}" "$@"\n')
    os.chmod(start, 0o755)


def _check(name: str, pin: Pin, draft: str) -> None:
    """It starts and is what was asked for. Nothing of the user's home is read."""
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "CI": "1"}
        env |= {"DISABLE_AUTOUPDATER": "1", "MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1"}
        # mini has no --version; its metadata is the witness.
        if "python" in pin:
            code = f"import importlib.metadata as m; print(m.version({pin['python'][0].split('==')[0]!r}))"
            seen = _command([f"{draft}/bin/python", "-c", code], name, env)
        else:
            seen = _command([f"{draft}/start/{name}", "--version"], name, env)
    if pin["version"] not in seen:
        raise InstallError(
            f"{name}: version {pin['version']} is pinned, the program says {seen.strip()[:200]!r}"
        )


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    os.makedirs(cache(), exist_ok=True)
    with open(os.path.join(cache(), f".{name}.lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure(name: str, pin: Pin | None = None) -> str:
    """The path of the program; installed first, if it is not there at this pin."""
    known = pins()
    if pin is None and name not in known:
        raise InstallError(f"unknown agent {name!r}; known are {', '.join(known)}")
    pin = pin or known[name]
    final = folder(name, pin)
    if os.path.isdir(final):
        return program(name, pin)
    with _locked(name):
        if os.path.isdir(final):
            return program(name, pin)
        start = time.monotonic()
        draft = tempfile.mkdtemp(prefix=f".{name}-", dir=cache())
        try:
            _fetch(name, pin, draft)
            _link(name, pin, draft)
            _check(name, pin, draft)
            os.chmod(draft, 0o755)
            os.rename(draft, final)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        print(f"{name} {pin['version']}: {time.monotonic() - start:.1f} s", file=sys.stderr)
    return program(name, pin)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="all when none is given")
    parser.add_argument("--main", action="store_true", help="only those that `make test` needs")
    parser.add_argument("--where", action="store_true", help="print paths, install nothing")
    wanted = parser.parse_args(argv)
    known = pins()
    names = wanted.names or [name for name, pin in known.items() if pin.get("main") or not wanted.main]
    if wanted.main:
        names = [name for name in names if name != "node"]
    try:
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InstallError(f"unknown agent {unknown[0]!r}; known are {', '.join(known)}")
        if not wanted.where:
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(ensure, names))
    except InstallError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name in names:
        print(f"{name}\t{known[name]['version']}\t{program(name, known[name])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
