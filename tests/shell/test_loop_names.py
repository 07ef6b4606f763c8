"""What a loop is called: by its task, or as somebody asked."""

import re

import pytest

from ralph.errors import UserError
from ralph.shell.start.prepare import loop_name
from ralph.shell.start.request import StartRequest


def name(asked: str, task: str = "Fix the parser!") -> str:
    return loop_name(StartRequest(task=task, cwd="/", loop_id=asked), "0123abcd")


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ("", "fix-the-parser-0123abcd"),
        ("ralph-fix-auth-7f3a91c2", "fix-auth-7f3a91c2"),
        ("fix-auth-7f3a91c2", "fix-auth-7f3a91c2"),
        ("fix-auth", "fix-auth-0123abcd"),
        ("ralph-fix-auth", "fix-auth-0123abcd"),
        ("7f3a91c2", "7f3a91c2-0123abcd"),
        ("fix-7F3A91C2", None),
        ("fix-auth-7f3a91c2\n", None),
        ("Fix", None),
        ("../up", None),
        ("-x-7f3a91c2", None),
        ("ralph-", None),
        ("a" * 53, None),
        ("a" * 52, "a" * 52 + "-0123abcd"),
    ],
)
def test_a_whole_id_is_kept_and_a_bare_name_completed(asked, made):
    """An id of S2's form is taken unchanged, a bare name gets 8 hex digits, all else is exit 2."""
    if made is None:
        with pytest.raises(UserError) as wrong:
            name(asked)
        assert (wrong.value.code, wrong.value.exit_code) == ("E-LOOP-NAME", 2)
        return
    assert name(asked) == made
    assert re.fullmatch(r"ralph-[a-z0-9-]+-[a-f0-9]{8}", f"ralph-{made}")
