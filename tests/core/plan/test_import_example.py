"""Promise: the example plan of the method that this follows is read as it was meant."""

from ralph.core.plan.file import check_file, parse_plan
from ralph.core.plan.import_markdown import import_plan

EXAMPLE = """- [x] Set up project structure
- [x] Implement core data types
- [ ] Implement user authentication (P0 \u2014 blocks 3 other tasks)
- [ ] Add API rate limiting (P1)
- [ ] Add monitoring and logging (P2)

Missing specs: Rate limiting spec needs error response format defined.
"""


def test_priorities_remarks_and_missing_specs():
    """A remark after a tag is a note, the priority counts, and a line of missing specs is one."""
    plan = import_plan(EXAMPLE, "plan.md").plan
    by_title = {item.title: item for item in plan.items}
    assert by_title["Implement user authentication"].priority == 0
    assert by_title["Add API rate limiting"].priority == 1
    assert by_title["Add monitoring and logging"].priority == 2
    assert by_title["Implement user authentication"].notes == ("blocks 3 other tasks",)
    assert [one.name for one in plan.missing] == ["Rate limiting spec needs error response format defined."]


def test_as_the_plan_itself_nothing_is_wrong_with_it():
    """As IMPLEMENTATION_PLAN.md it is a plan to work by, not a reason to plan again."""
    assert check_file(parse_plan(EXAMPLE), None) == ()
