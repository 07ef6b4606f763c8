"""Handing a loop to the background while its runner is still at work."""

import os

import making

from ralph.app.background.hand_over import hand_over


def test_a_loop_that_has_ended_in_the_meantime_needs_nobody(tmp_path):
    """A run of a backlog that was killed goes on beside runners that live: one may end its loop just then."""
    state = tmp_path / "state"
    name = making.order().loop
    making.record_all(state, making.verified())
    env = {**os.environ, "RALPH_STATE_DIR": str(state)}
    handed = hand_over(name, env, priority="medium", most=1, machine=4, queue=True)
    assert (handed.name, handed.pid) == (name, None)
    assert not (state / "logs" / "worker.log").exists(), "no worker is started for it"
