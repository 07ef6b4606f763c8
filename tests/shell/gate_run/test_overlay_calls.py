"""The judge's changed files over the base: what no budget leaves out."""

from types import SimpleNamespace

from gitkit import begin, make_repo
from guardkit import facts_of
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.shell.gate_run.experiments import overlay_calls
from ralph.shell.gate_run.schedule import Lab
from ralph.shell.git.trees import edited_tree


def test_a_check_that_changed_is_always_tried_over_the_base(tmp_path):
    """However long it takes: nothing else tells that it asks for less now, beside work that is right."""
    before, after = {"check.sh": "exit 1\n"}, {"check.sh": "exit 0\n"}
    loop = begin(make_repo(tmp_path / "r", before), tmp_path / "s")
    order = SimpleNamespace(base=SimpleNamespace(tree=loop.start.base_tree))
    judge = SimpleNamespace(
        site=SimpleNamespace(store=loop.store, order=order), slot=lambda gate, stage: stage
    )
    argv = ("sh", "check.sh")
    gate = Gate("check", "sh check.sh", argv, read="exit", proof=True, own_files=("check.sh",))
    tree = edited_tree(loop.store, loop.start.base_tree, {"check.sh": after["check.sh"].encode()})
    facts = replace(facts_of(before, after, gates=(gate,)), tree=tree)
    (over,) = overlay_calls.plan(Lab(judge, facts, {}))
    (one,) = over.then()
    assert [call.tree for call in one.calls] == [tree]
    assert one.needed
