"""`python bench/run.py [names…] [--quick]`: measure, print a table, exit 1 when an aim is missed.

Each part is a file beside this one with a `measure(quick)`; how they measure is told in README.md. Results
also go to results/latest.json, which git ignores.
"""

import argparse
import compileall
import importlib
import json
import os
import sys
import time

from measuring import Line
from msgspec.structs import asdict

import ralph

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("startup", "iteration", "long", "output", "parse", "large", "plan", "proof", "background", "backlog")


def main() -> int:
    asked = argparse.ArgumentParser(description="Measure Ralph beside the floor.")
    asked.add_argument("names", nargs="*", metavar="name", help=f"some of: {', '.join(PARTS)}")
    asked.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a measurement")
    words = asked.parse_args()
    unknown = [name for name in words.names if name not in PARTS]
    if unknown:
        asked.error(f"there is no part '{unknown[0]}', expected some of: {', '.join(PARTS)}")
    # A user's installation has bytecode; a work tree may not, and some environments forbid writing it.
    compileall.compile_dir(os.path.dirname(ralph.__file__), quiet=2)
    lines: list[Line] = []
    print(f"{'':<54}{'floor':>9}{'ralph':>11}{'value':>14}{'aim':>7}", flush=True)
    for part in PARTS:
        if part in words.names or not words.names:
            for line in importlib.import_module(part).measure(words.quick):
                lines.append(line)
                print(shown(line), flush=True)
    write_results(lines, quick=words.quick)
    missed = sum(not line.met for line in lines)
    print(f"{missed} of {len(lines)} aims missed" if missed else f"all {len(lines)} aims met")
    return 1 if missed else 0


def shown(line: Line) -> str:
    floor = "" if line.floor is None else f"{line.floor:.1f}"
    value, aim = f"{line.value:.2f} {line.value_unit}", f"{line.aim:g}"
    met = "met" if line.met else "MISSED"
    what, ralph_ = f"{line.part}: {line.what}", f"{line.ralph:.1f} {line.unit}"
    return f"{what:<54}{floor:>9}{ralph_:>11}{value:>14}{aim:>7}  {met}"


def write_results(lines: list[Line], *, quick: bool) -> None:
    folder = os.path.join(HERE, "results")
    os.makedirs(folder, exist_ok=True)
    found = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "version": ralph.__version__,
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "quick": quick,
        "lines": [asdict(line) | {"met": line.met} for line in lines],
    }
    with open(os.path.join(folder, "latest.json"), "w", encoding="utf-8") as file:
        json.dump(found, file, indent=2)


if __name__ == "__main__":
    sys.exit(main())
