"""The group itself, and what its commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ralph.app.backlog.desk import Desk
    from ralph.app.backlog.helpers import HelperAnswer


@click.group(short_help="Keep and work through a backlog of items.")
def backlog() -> None:
    """Keep a durable queue of items in .ralph/backlog/feature_list.json, and work through it.

    An item has a priority, dependencies and commands that verify it. `ralph backlog run` works on one item
    after the other, each in a loop of its own, and marks an item PASSING only when Ralph has seen its
    commands fail before and pass after.
    """


HARNESS = click.option(
    "--harness-dir", default="", metavar="DIR", help="Folder of feature_list.json (default: found)."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
REASON = click.option("--reason", required=True, help="Why; kept in the record.")


def desk_of(harness_dir: str) -> Desk:
    from ralph.app.backlog.desk import open_desk

    return open_desk(os.getcwd(), dict(os.environ), harness_dir)


def print_notes(opened: Any) -> None:
    """What was edited by hand in results, and did not count."""
    from ralph.app.words.format import safe

    for one in opened.notes:
        print(f"note: {safe(one.item, 60)}: {safe(one.words, 300)}", file=sys.stderr)


def helper(make: Callable[[], HelperAnswer]) -> int:
    """A helper of S3: one JSON object on stdout whatever happens, and its own exit codes."""
    import json

    from ralph.errors import RalphError, UserError

    try:
        answer = make()
    except RalphError as error:
        name = error.code.removeprefix("E-BACKLOG-").lower().replace("-", "_")
        names = {
            "none": "failed_to_load_feature_list",
            "invalid": "failed_to_load_feature_list",
            "write": "failed_to_save_feature_list",
        }
        body = {
            "success": False,
            "error": names.get(name, name),
            "message": error.what,
            "why": error.why,
            "next": error.next,
        }
        print(json.dumps(body, ensure_ascii=False, indent=2))
        soft = isinstance(error, UserError) and name in ("item_not_found", "invalid_attempt_data", "write")
        return 1 if soft else 2
    print(json.dumps(answer.body, ensure_ascii=False, indent=2))
    return answer.exit_code
