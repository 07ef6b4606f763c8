#!/usr/bin/env python3
"""An agent for backlogs: it does what the item's id asks for, honestly or not.

F-n writes features/F-n.txt, which the item's check prints. BREAK-n does that and ruins F-1. LIE-n only says
that it is done. EDIT-n marks everything PASSING in the list, PRD-n rewrites a PRD. SLOW-n takes its time.
BOTH-n change the same line. Others fail.
"""

import json
import os
import re
import sys
import time

prompt = sys.stdin.read()
found = re.search(r"^([A-Z]+-\d+): ", prompt, re.MULTILINE)
name = found[1] if found else ""
kind = name.partition("-")[0]
os.makedirs("features", exist_ok=True)


def write_feature(item: str) -> None:
    with open(f"features/{item}.txt", "w", encoding="utf-8") as file:
        file.write(f"{item}\n")


if kind in ("F", "BREAK", "EDIT", "PRD", "SLOW"):
    if kind == "SLOW":
        time.sleep(4)
    write_feature(name)
if kind == "BREAK":
    with open("features/F-1.txt", "w", encoding="utf-8") as file:
        file.write("something else\n")
if kind == "EDIT":
    path = ".ralph/backlog/feature_list.json"
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    for item in data["items"]:
        item["status"] = "PASSING"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
if kind == "PRD":
    with open(".ralph/prd/PRD-1.md", "w", encoding="utf-8") as file:
        file.write("nothing is required\n")
if kind == "BOTH":  # two of them change the same line
    with open("shared.txt", "w", encoding="utf-8") as file:
        file.write(f"{name}\n")
    write_feature(name)
print(
    "---RALPH_STATUS---",
    "STATUS: COMPLETE",
    "TASKS_COMPLETED_THIS_LOOP: 1",
    "FILES_MODIFIED: 1",
    "TESTS_STATUS: PASSING",
    "WORK_TYPE: IMPLEMENTATION",
    "EXIT_SIGNAL: true",
    "RECOMMENDATION: all done, nothing left",
    "---END_RALPH_STATUS---",
    sep="\n",
)
