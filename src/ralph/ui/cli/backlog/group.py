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


def print_json(body: Any, indent: int = 0) -> None:
    import msgspec

    made = msgspec.json.encode(body)
    print((msgspec.json.format(made, indent=indent) if indent else made).decode())


_S3_NAMES = {
    **dict.fromkeys(("none", "invalid", "read", "large"), "failed_to_load_feature_list"),
    **dict.fromkeys(("write", "moved"), "failed_to_save_feature_list"),
}
_SOFT = frozenset({"item_not_found", "invalid_attempt_data", "failed_to_save_feature_list"})


def helper(make: Callable[[], HelperAnswer]) -> int:
    """A helper of S3: one JSON object on stdout whatever happens, and its own exit codes."""
    from ralph.errors import Bug, RalphError

    try:
        answer = make()
    except RalphError as error:
        if not error.code.startswith("E-BACKLOG-") or isinstance(error, Bug):
            name = "unexpected_error"
        else:
            name = error.code.removeprefix("E-BACKLOG-").lower().replace("-", "_")
        name = _S3_NAMES.get(name, name)
        told = {"message": error.what, "why": error.why, "next": error.next, "code": error.code}
        print_json({"success": False, "error": name, **told}, indent=2)
        return 1 if name in _SOFT else 2
    print_json(answer.body, indent=2)
    return answer.exit_code
