"""Try the newest versions of the agent CLIs, and print what changed against the recorded streams.

    python tools/agents/latest.py [NAME…] [--case CASE,…]

Compared are event types, exit codes and the names of the tools that the client offers to its model.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "tests")
sys.path[:0] = [HERE, os.path.join(TESTS, "models")]

import install  # noqa: E402

RECORDED = os.path.join(TESTS, "agents", "recorded")
CASES = "success,several,tool-fails,429-short,401,500,529,cut,denied,max-turns,context"


def unpinned(pin: install.Pin) -> install.Pin:
    """The same agent without its version: whatever the registry calls the newest."""
    free = {**pin, "version": ""}
    if "wheel" in pin:
        free["wheel"] = pin["wheel"].split("==")[0]
    elif "npm" in pin:
        free["npm"] = re.sub(r"@[^@/]+$", "@latest", pin["npm"])
    else:
        free["python"] = [word.split("==")[0] for word in pin["python"]]
    return free


def shape(path: str) -> set[str]:
    """The kinds of events in a stream: each line's type, with the types nested in it."""
    found: set[str] = set()
    if not os.path.exists(path):
        return found
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                found |= kinds(event)
    return found


def kinds(event: dict[str, Any]) -> set[str]:
    name = "/".join(str(event[key]) for key in ("type", "subtype") if key in event)
    inner = [event.get(key) for key in ("item", "part", "message", "event", "rate_limit_info")]
    found = {name}
    for table in inner:
        if not isinstance(table, dict):
            continue
        if isinstance(table.get("type"), str):
            found.add(f"{name} > {table['type']}")
        blocks = table.get("content")
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict) and "type" in block:
                found.add(f"{name} > {block['type']}")
    return found


def differences(old: set[str], new: set[str], what: str) -> list[str]:
    gone = [f"- {what} {name}" for name in sorted(old - new)]
    return gone + [f"+ {what} {name}" for name in sorted(new - old)]


def compare(name: str, cases: list[str], fresh: str, recorded: str = RECORDED) -> list[str]:
    """What a new recording has that the old one has not, and the other way round."""
    with open(f"{recorded}/index.json", encoding="utf-8") as file:
        old = json.load(file).get(name, {})
    with open(f"{fresh}/index.json", encoding="utf-8") as file:
        new = json.load(file).get(name, {})
    lines = []
    for case in cases:
        if case not in old or case not in new:
            continue
        before, after = (shape(f"{folder}/{name}/{case}.jsonl") for folder in (recorded, fresh))
        changed = differences(before, after, "event")
        if old[case]["exit"] != new[case]["exit"]:
            changed.append(f"exit {old[case]['exit']} -> {new[case]['exit']}")
        if old[case]["files"] != new[case]["files"]:
            changed.append(f"files {old[case]['files']} -> {new[case]['files']}")
        lines += [f"  {case}: {line}" for line in changed]
    tools = [{tool for row in rows.values() for tool in row.get("tools", [])} for rows in (old, new)]
    return lines + [f"  {line}" for line in differences(tools[0], tools[1], "tool")]


def version(name: str, pin: install.Pin, path: str) -> str:
    if "python" in pin:
        code = f"import importlib.metadata as m; print(m.version({pin['python'][0]!r}))"
        argv = [os.path.join(os.path.dirname(path), "..", "bin", "python"), "-c", code]
    else:
        argv = [path, "--version"]
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ.get("PATH", os.defpath)}
        seen = subprocess.run(argv, check=False, capture_output=True, text=True, env=env).stdout
    found = re.search(r"\d+\.\d+\.\d+\S*", seen)
    return found.group(0) if found else f"unknown ({name})"


def try_newest(name: str, cases: list[str], folder: str) -> list[str]:
    import drive

    pin = install.pins()[name]
    newest = unpinned(pin)
    path = install.ensure(name, newest)
    lines = [f"{name} {pin['version']} -> {version(name, newest, path)}"]
    exe = os.path.relpath(path, install.cache())
    for case in cases:
        made, work = drive.drive(install.cache(), drive.order(name, case, exe))
        drive.save(folder, name, case, made, f"{work}/out")
        shutil.rmtree(work, ignore_errors=True)
    changes = compare(name, cases, folder)
    return lines + (changes or ["  no change in events, exit codes or tools"])


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="all when none is given")
    parser.add_argument("--case", default=CASES)
    wanted = parser.parse_args(argv)
    names = wanted.names or [name for name in install.pins() if name != "node"]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="agents-latest-") as folder:
        os.environ["RALPH_AGENTS_CACHE"] = f"{folder}/cache"
        for name in names:
            try:
                print("\n".join(try_newest(name, wanted.case.split(","), f"{folder}/new")), flush=True)
            except (install.InstallError, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"{name}: {error}", flush=True)
            for old in os.listdir(f"{folder}/cache"):
                if old.startswith(f"{name}-"):
                    shutil.rmtree(f"{folder}/cache/{old}", ignore_errors=True)
    return 1 if failed == len(names) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
