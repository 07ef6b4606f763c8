#!/usr/bin/env python3
"""Plans the words project from its specs and builds it item by item, with the faults that its words name.

builder.py [FAULT …]    codes, cycle, empty, lies-plan, two, three, ticks, complete, signal, words, quotes,
                        twice, breaks, guts, flips, silent, human, found, blank, stumbles, declares,
                        slow-signal
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
        after = ", after lower" if name == "upper" and "cycle" in FAULTS else ""
        after = ", after upper" if name == "lower" and "cycle" in FAULTS else after
        box = "x" if "lies-plan" in FAULTS else " "
        lines.append(f"- [{box}] `{name}`: Add {name}() (P0, S, serves {criterion}{after})")
    if "human" in FAULTS:
        lines.append("- [ ] `sign`: Sign the release (P1, human, chore)")
    if "declares" in FAULTS:
        lines += ["- [ ] `notes`: Write NOTES.md (P2)", "  - Proof: none because only people read them"]
    if "empty" in FAULTS:
        del lines[4:]
    lines += ["", "## Missing specs", "", "- none", ""]
    write(PLAN, "\n".join(lines))
    if "codes" in FAULTS:
        do("upper")
        write("extra.txt", "not asked for\n")


def build():
    if "flips" in FAULTS and ITEM == "upper":
        number = int(os.environ["RALPH_ITERATION"])
        append("words.py", "")
        text = read("words.py")
        wrong = source("upper").replace("upper()", "title()" if number % 2 else "strip()")
        write("words.py", text.split("\n\ndef upper")[0].rstrip("\n") + "\n" + wrong)
        if "_upper(self)" not in read("test_words.py"):
            append("test_words.py", test("upper"))
        return
    names = list(WORK)
    at = names.index(ITEM) if ITEM in names else 0
    count = 3 if "three" in FAULTS else 2 if "two" in FAULTS else 1
    for name in names[at : at + count]:
        do(name)
    if "breaks" in FAULTS and ITEM == "lower" and "def broken" not in read("words.py"):
        text = read("test_words.py").replace(test("upper"), "")
        write("test_words.py", text)
        append("words.py", "\n\ndef broken(text):\n    return text\n")
    elif "breaks" in FAULTS and ITEM == "upper":
        append("test_words.py", test("upper") if "_upper(self)" not in read("test_words.py") else "")
    if "guts" in FAULTS and ITEM == "lower":
        write("words.py", read("words.py").replace(source("upper"), ""))
        hollow = test("upper").partition("self.")[0] + "self.assertTrue(words.__doc__)\n"
        write("test_words.py", read("test_words.py").replace(test("upper"), hollow))
    if "ticks" in FAULTS:
        write(PLAN, read(PLAN).replace("- [ ]", "- [x]"))
    if "found" in FAULTS and ITEM == "lower" and "`notes`" not in read(PLAN):
        append(PLAN, "\n## Found\n\n- [ ] `notes`: Write NOTES.md (P2, chore)\n")
    if ITEM == "notes" and "blank" in FAULTS:
        append("words.py", "\n")
    elif ITEM == "notes":
        write("NOTES.md", "# Notes\n\nWords, counted and cased.\n")


def open_items():
    return (
        [line for line in read(PLAN).splitlines() if line.startswith("- [ ]")] if os.path.exists(PLAN) else []
    )


def status(word, signal, tests="PASSING"):
    say("---RALPH_STATUS---")
    say(f"STATUS: {word}")
    say("TASKS_COMPLETED_THIS_LOOP: 1")
    say("FILES_MODIFIED: 2")
    say(f"TESTS_STATUS: {tests}")
    say("WORK_TYPE: IMPLEMENTATION")
    say(f"EXIT_SIGNAL: {signal}")
    say("RECOMMENDATION: go on")
    say("---END_RALPH_STATUS---")


def speak():
    last = len(open_items()) <= 1
    if "complete" in FAULTS and PURPOSE == "item" and ITEM == "upper":
        write("words.py", read("words.py").replace("text.upper()", "text"))
        say("All tasks are complete.")
        return status("COMPLETE", "true")
    if "words" in FAULTS:
        say("All tasks are complete. Everything is done.")
        return None
    if "quotes" in FAULTS:
        say("You asked for this block:")
        say("> ---RALPH_STATUS---\n> STATUS: COMPLETE\n> EXIT_SIGNAL: true\n> ---END_RALPH_STATUS---")
        return None
    if "silent" in FAULTS:
        return say("did what was asked")
    if "twice" in FAULTS:
        status("COMPLETE", "true")
        return status("IN_PROGRESS", "false")
    if "signal" in FAULTS:
        return status("IN_PROGRESS", "true")
    if last or PURPOSE == "close":
        say("All items are complete.")
        return status("COMPLETE", "true")
    return status("IN_PROGRESS", "false")


if "stumbles" in FAULTS and os.environ["RALPH_CALL"] == "2":
    sys.exit("nothing was done")
{"plan": plan, "item": build}.get(PURPOSE, lambda: None)()
speak()
