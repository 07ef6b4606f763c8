#!/usr/bin/env python3
"""Plans the words project from its specs and builds it item by item, with the faults that its words name.

builder.py [FAULT …]    codes, declares, found, guts, human, stumbles
"""

import os
import sys

from _lib import append, read, say, write

FAULTS = set(sys.argv[1:])
PURPOSE, ITEM = os.environ.get("RALPH_PURPOSE", ""), os.environ.get("RALPH_ITEM", "")
PLAN = "IMPLEMENTATION_PLAN.md"
# item: criterion, body of the function, expected value of f("ab cd")
WORK = {
    "upper": ("CASE-1", "text.upper()", "'AB CD'"),
    "lower": ("CASE-2", "text.lower()", "'ab cd'"),
    "title": ("CASE-3", "text.title()", "'Ab Cd'"),
    "count": ("COUNT-1", "len(text.split())", "2"),
    "letters": ("COUNT-2", "sum(one.isalpha() for one in text)", "4"),
    "first": ("COUNT-3", "(text.split() or [''])[0]", "'ab'"),
}
SPECS = (
    "".join(read(f"specs/{name}") for name in sorted(os.listdir("specs"))) if os.path.isdir("specs") else ""
)
WORK = {name: work for name, work in WORK.items() if f"{work[0]}:" in SPECS}


def source(name):
    return f"\n\ndef {name}(text):\n    return {WORK[name][1]}\n"


def test(name):
    criterion, _, value = WORK[name]
    method = f"test_{criterion.lower().replace('-', '_')}_{name}"
    return f"\n    def {method}(self):\n        self.assertEqual(words.{name}('ab cd'), {value})\n"


def do(name):
    if f"def {name}(" not in read("words.py"):
        append("words.py", source(name))
    if f"_{name}(self)" not in read("test_words.py"):
        append("test_words.py", test(name))


def plan():
    lines = ["# Implementation plan", "", "## High", ""]
    for name, (criterion, _, _) in WORK.items():
        lines.append(f"- [ ] `{name}`: Add {name}() (P0, S, serves {criterion})")
    if "human" in FAULTS:
        lines.append("- [ ] `sign`: Sign the release (P1, human, chore)")
    if "declares" in FAULTS:
        lines += ["- [ ] `notes`: Write NOTES.md (P2)", "  - Proof: none because only people read them"]
    lines += ["", "## Missing specs", "", "- none", ""]
    write(PLAN, "\n".join(lines))
    if "codes" in FAULTS:
        do("upper")
        write("extra.txt", "not asked for\n")


def build():
    if ITEM in WORK:
        do(ITEM)
    if "guts" in FAULTS and ITEM == "lower":
        write("words.py", read("words.py").replace(source("upper"), ""))
        hollow = test("upper").partition("self.")[0] + "self.assertTrue(words.__doc__)\n"
        write("test_words.py", read("test_words.py").replace(test("upper"), hollow))
    if "found" in FAULTS and ITEM == "lower" and "`notes`" not in read(PLAN):
        append(PLAN, "\n## Found\n\n- [ ] `notes`: Write NOTES.md (P2, chore)\n")
    if ITEM == "notes":
        write("NOTES.md", "# Notes\n\nWords, counted and cased.\n")


def open_items():
    return (
        [line for line in read(PLAN).splitlines() if line.startswith("- [ ]")] if os.path.exists(PLAN) else []
    )


def speak():
    over = len(open_items()) <= 1 or PURPOSE == "close"
    if over:
        say("All items are complete.")
    say("---RALPH_STATUS---")
    say(f"STATUS: {'COMPLETE' if over else 'IN_PROGRESS'}")
    say("TASKS_COMPLETED_THIS_LOOP: 1")
    say("FILES_MODIFIED: 2")
    say("TESTS_STATUS: PASSING")
    say("WORK_TYPE: IMPLEMENTATION")
    say(f"EXIT_SIGNAL: {'true' if over else 'false'}")
    say("RECOMMENDATION: go on")
    say("---END_RALPH_STATUS---")


if "stumbles" in FAULTS and os.environ["RALPH_CALL"] == "2":
    sys.exit("nothing was done")
{"plan": plan, "item": build}.get(PURPOSE, lambda: None)()
speak()
