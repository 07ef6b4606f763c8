"""How often inference finds the command that a project's maintainers would accept for "make the tests pass".

The projects' sources are not in this repository: `--checkouts DIR` holds them as OWNER+NAME or OWNER/NAME.
Nothing of them is executed. Each is asked on two machines: one with every tool, and one with the usual few.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from pathlib import Path

from ralph.core.toolchains.load import toolchains
from ralph.shell.criterion import propose

AIM = 50
PLAIN = ["bash", "sh", "cargo", "cmake", "go", "make", "node", "npm", "npx", "pytest", "python", "python3"]
TASK = "make the tests pass"


def machine(folder: Path, names: list[str]) -> dict[str, str]:
    """An environment in which these programs are found; none of them is ever started."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 3\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkouts", type=Path, required=True, metavar="DIR")
    folder = parser.parse_args().checkouts
    listed = tomllib.loads((Path(__file__).parent / "projects.toml").read_text())
    places = {
        name: next((one for one in (folder / name.replace("/", "+"), folder / name) if one.is_dir()), None)
        for name in listed
    }
    for name in (name for name, place in places.items() if place is None):
        print(f"missing: {name} has no checkout in {folder}")
    missed = False
    every = sorted({*PLAIN, *toolchains().tools, *toolchains().names})
    for says, names in (("every tool", every), ("a plain machine", PLAIN)):
        right = 0
        with tempfile.TemporaryDirectory() as made:
            env = machine(Path(made), names)
            for name, accepted in listed.items():
                if places[name] is None:
                    continue
                checks = propose(TASK, cwd=str(places[name]), env=env).checks
                got = " & ".join(one.run if one.cwd == "." else f"{one.cwd}: {one.run}" for one in checks)
                right += got in accepted
                if got not in accepted:
                    print(f"{says}: {name}: {got or 'refused'}; accepted: {', '.join(accepted)}")
        there = sum(place is not None for place in places.values())
        print(f"{says}: {right} of {there} right")
        missed |= not there or right < AIM * there / len(listed)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
