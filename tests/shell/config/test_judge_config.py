"""[judge] in the configuration: which rubric, which agent, and what is refused."""

import os

import pytest
from gitkit import make_repo
from msgspec.structs import replace

from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.order import BoxTerms, Order
from ralph.core.model.rubric import objections
from ralph.core.model.spend import Limits
from ralph.errors import RalphError, UserError
from ralph.shell import config
from ralph.shell.agent_call.beside.side_calls import is_instruction_file, judge_order
from ralph.shell.config.judge import default_dimensions, rubric_of
from ralph.shell.git.project import find_project
from ralph.shell.start.agents import SAME, AgentChoice, choose_judge, choose_judge_beside

ANCHORS = 'anchors = {1 = "bad", 5 = "so so", 10 = "good"}'
WORKER = AgentChoice(agent=SealedAgent("command", ("/bin/worker",)))


def dimensions(*weights: float, anchors: str = ANCHORS) -> str:
    rows = enumerate(weights)
    return "".join(
        f'[[judge.dimensions]]\nname = "d{n}"\nweight = {w}\nwhat = "is it?"\n{anchors}\n' for n, w in rows
    )


@pytest.fixture
def place(tmp_path):
    """Settings over real files of a user and of a project."""
    top, user = tmp_path / "repo", tmp_path / "user"
    make_repo(top)
    user.mkdir()

    class Place:
        repo = top

        @staticmethod
        def load(own="", project="", env=None, trust=lambda _hash: True):
            (user / "config.toml").write_text(own)
            (top / "ralph.toml").write_text(project)
            return config.load(
                cwd=str(top), top=str(top), env=env or {}, flags={}, user_dir=str(user), trust=trust
            )

        def seat(self, own, worker=WORKER):
            return choose_judge(self.load(own), find_project(str(top)), dict(os.environ), worker)

    return Place()


def test_nobody_judges_unless_asked(place):
    """Without [judge] there is no judge; a variable switches a configured one off."""
    assert rubric_of(place.load()) is None
    own = '[judge]\nrubric = "default"\n'
    assert rubric_of(place.load(own)) is not None
    assert rubric_of(place.load(own, env={"RALPH_JUDGE_RUBRIC": "none"})) is None


def test_the_shipped_rubric_is_sound():
    """Ralph's own dimensions meet what it asks of others."""
    assert objections(default_dimensions()) == []


def test_own_dimensions_are_what_is_asked(place):
    """Name, weight, what and anchors arrive as they were written, with the terms beside them."""
    text = '[judge]\nthreshold = 8.5\nrequired = true\nafter = "item"\ntimeout = "2m"\n'
    rubric = rubric_of(place.load(text + dimensions(0.5, 0.25, 0.25)))
    assert [(one.name, one.weight) for one in rubric.dimensions] == [("d0", 0.5), ("d1", 0.25), ("d2", 0.25)]
    assert rubric.dimensions[0].anchors == {"1": "bad", "5": "so so", "10": "good"}
    assert (rubric.threshold, rubric.required, rubric.after, rubric.timeout) == (8.5, True, "item", 120.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (dimensions(0.5, 0.4, 0.2), "expected weights that sum to 1.0, not 1.1"),
        (dimensions(0.5, 0.5), "3 to 5 dimensions, not 2"),
        (dimensions(0.5, 0.3, 0.2, anchors='anchors = {1 = "bad"}'), "missing at 5, 10"),
        (dimensions(0.5, 0.3, 0.2, anchors='anchors = {3 = "bad"}'), "tables with name, weight, what"),
        ('[judge]\ndimensions = "all"\n', "tables with name, weight, what and anchors"),
        ("[judge]\nthreshold = 4.9\n", "a score from 5 to 10"),
        ("[judge]\nthreshold = true\n", "a score from 5 to 10"),
        ('[judge]\nafter = "call"\n', "one of loop, item"),
        ("[judge]\nstrict = true\n", "unknown key"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(place, text, says):
    """A rubric that cannot be used is a configuration error with file, line and what was expected."""
    with pytest.raises(UserError) as caught:
        place.load(text)
    assert caught.value.code == "E-CONFIG"
    assert says in caught.value.why
    assert "config.toml:" in caught.value.at


def test_a_judge_without_a_rubric_is_refused(place):
    """Keys of a judge without anything to judge by are a slip, not a judge."""
    with pytest.raises(UserError) as caught:
        rubric_of(place.load("[judge]\nrequired = true\n"))
    assert caught.value.code == "E-JUDGE"
    assert "judge.required" in caught.value.what


def test_a_project_may_ask_for_a_judge_once_approved(place):
    """A repository's judge is shown whole and does not count before the user's word."""
    text = '[judge]\nagent = "critic"\n' + dimensions(0.5, 0.25, 0.25)
    settings = place.load(project=text, trust=lambda _hash: False)
    assert rubric_of(settings) is None
    shown = [item.words for item in settings.project.approval.items]
    assert any("chooses the judge's agent critic" in words for words in shown)
    assert any("judged by these dimensions" in words and '"what":"is it?"' in words for words in shown)
    assert rubric_of(place.load(project=text)) is not None


def test_the_loops_own_agent_judges_unless_another_is_named(place):
    """The same agent is weaker, and that is said; another agent or model is not."""
    plain = place.seat('[judge]\nrubric = "default"\n')
    assert (plain.judge.argv, plain.rubric.same_agent, plain.notes) == (("/bin/worker",), True, (SAME,))
    model = place.seat('[judge]\nrubric = "default"\nmodel = "larger"\n')
    assert (model.judge.model, model.rubric.same_agent, model.notes) == ("larger", False, ())
    other = place.seat(
        '[agents.critic]\ncommand = "/bin/true"\n[judge]\nrubric = "default"\nagent = "critic"\n'
    )
    assert (os.path.basename(other.judge.argv[0]), other.rubric.same_agent) == ("true", False)
    assert place.seat("").rubric is None


def test_a_hosts_own_program_is_looked_for_unless_another_agent_judges(place, tmp_path):
    """A profile that names no agent names no other one: that the host's is missing is said at the start."""
    own = '[profiles.big]\nmodel = "larger"\n[judge]\nrubric = "default"\nprofile = "big"\n'
    with pytest.raises(RalphError, match="claude"):
        choose_judge_beside(
            place.load(own),
            find_project(str(place.repo)),
            {"PATH": str(tmp_path), "HOME": str(tmp_path)},
            "claude",
        )


def test_a_judges_profile_brings_its_own_key_and_price(place):
    """The worker's key never goes to the judge's provider, nor the other way round."""
    own = (
        'profile = "mine"\n[profiles.mine]\nagent = "critic"\nkey_from = "MY_KEY"\n'
        '[profiles.theirs]\nagent = "critic"\nmodel = "m"\nkey_from = "THEIR_KEY"\n'
        "price_input = 1\nprice_output = 2\n"
        '[agents.critic]\ncommand = "/bin/true"\n[judge]\nrubric = "default"\n'
    )
    seated = place.seat(own + 'profile = "theirs"\n')
    assert (seated.judge.key.variable, seated.judge.model, seated.judge.price.written) == (
        "THEIR_KEY",
        "m",
        2.0,
    )
    assert place.seat(own + 'agent = "critic"\n').judge.key is None
    with pytest.raises(UserError, match="not defined"):
        place.seat(own + 'profile = "nobody"\n')


def test_the_judge_may_write_nothing_of_the_loop():
    """Its order has none of the worker's writable paths, conversations or spare agents."""
    order = Order(
        loop="l", task="t", repo="/r", criterion=Criterion("custom", ()), limits=Limits(),
        agent=SealedAgent("a"), box=BoxTerms(allow_write=("/data",)), prefix="sub",
        keep_session=True, spares=(SealedAgent("b"),),
    )  # fmt: skip
    judge = SealedAgent("critic", settings={"write": "/data", "args": "-x"}, model="m")
    made = judge_order(order, judge)
    assert (made.agent.name, made.agent.model, made.agent.settings) == ("critic", "m", {"args": "-x"})
    assert (made.box.allow_write, made.keep_session, made.spares, made.prefix) == ((), False, (), "")
    assert replace(made, criterion=order.criterion).task == "t"


@pytest.mark.parametrize(
    ("path", "orders"),
    [
        ("AGENTS.md", True),
        ("docs/Claude.md", True),
        (".claude/settings.json", True),
        ("sub/.gemini/x/y", True),
        (".claude", True),
        (".github/copilot-instructions.md", True),
        ("src/agents.py", False),
        ("claude/notes.md", False),
    ],
)
def test_files_that_give_orders_to_a_cli(path, orders):
    """What a coding CLI takes its instructions or settings from is known by its name."""
    assert is_instruction_file(path) is orders
