"""Words of a task that bound the loop: they make it stricter, or they are the task's own."""

import subprocess

import pytest

from ralph.app.settings import limits_in_config
from ralph.app.start import PlanAsk
from ralph.errors import UserError
from ralph.ui.ask.loop_flags import LoopFlags
from ralph.ui.ask.start_loop import with_limits


def limits(task, **known):
    """The limits that come out, with the flags of a configuration that has these."""
    by_flag = {f"--{name.replace('_', '-')}": value for name, value in known.items()}
    made = with_limits(LoopFlags(task=task, yes=True, planning=PlanAsk(), settings={}), lambda: by_flag)
    return {flag[2:].replace("-", "_"): value for flag, value in made.settings.items()}


@pytest.mark.parametrize(
    "task",
    [
        "Each query should take less than 2 seconds",
        "The job should quit after 10 seconds",
        "Fix the timeout (max 5 seconds)",
        "Make the HTTP client give up after 3 attempts",
        "Implement rate limiting: at most 500 attempts, then lock",
        "Fix price formatting, e.g. €5",
        "Add a reminder, by Friday",
    ],
)
def test_what_the_code_is_to_do_bounds_no_loop(task):
    """Numbers of the product are left to the task, without a refusal."""
    assert limits(task) == {}


def test_what_is_meant_for_the_loop_bounds_it():
    """Set off, or about spending."""
    assert limits("Fix it, at most 2 hours and $5") == {"max_time": "2h", "max_cost": "5"}
    assert limits("Fix it, spend no more than 5 dollars") == {"max_cost": "5"}
    assert limits("Make the tests pass for two hours max") == {"max_time": "2h"}
    assert limits("Fix it, up to 20 tries and 3 USD") == {"max_iterations": "20", "max_cost": "3"}
    assert limits("Fix it; it must not take more than 2 hours") == {"max_time": "2h"}


def test_words_never_raise_a_limit_that_is_set(capsys):
    """A configured limit holds against a larger one in words; a smaller one counts."""
    task = "Add a budget of $100 to the Team model"
    assert limits(task, max_cost=5.0) == {}
    assert "--max-cost 5 holds" in capsys.readouterr().err
    assert limits(task, max_cost=500.0) == {"max_cost": "100"}
    assert limits("Fix it, at most 3 hours", max_time=3600.0) == {}


def test_a_comma_that_parts_no_thousands_is_refused():
    """Five and a half dollars are never 550."""
    with pytest.raises(UserError, match="5,50"):
        limits("Fix it, at most $5,50")
    assert limits("Fix it, at most $1,500") == {"max_cost": "1500"}


def test_only_what_somebody_has_set_is_known(tmp_path):
    """The user's own file counts, the built-in limits do not."""
    repo, own = tmp_path / "repo", tmp_path / "ralph"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    own.mkdir()
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    assert limits_in_config({}, env, str(repo)) == {}
    (own / "config.toml").write_text("[limits]\ncost = 5\n")
    assert limits_in_config({}, env, str(repo)) == {"--max-cost": 5.0}
