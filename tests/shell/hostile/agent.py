#!/usr/bin/env python3
"""A badly behaved program, one way at a time: `agent.py WAY [ARG]`. Stdlib only; every way is bounded."""

import os
import signal
import sys
import time

BOUND = 60.0


def sleep_on():
    time.sleep(BOUND)
    os._exit(0)


def child(act):
    pid = os.fork()
    if pid == 0:
        act()
        os._exit(0)
    return pid


def own_session():
    os.setsid()
    sleep_on()


def double_fork():
    os.setsid()
    child(sleep_on)


def deaf():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, 64)
    sleep_on()


def respawn():
    """A new pid every 20 ms, each in its own session."""
    os.setsid()
    until = time.monotonic() + BOUND
    while time.monotonic() < until:
        time.sleep(0.02)
        if os.fork():
            os._exit(0)
        os.setsid()


def tree():
    for act in (sleep_on, own_session, double_fork, deaf, respawn) * 3:
        child(act)
    time.sleep(0.1)


def way_tree_left(_):
    tree()
    os.write(1, b"ready\n")


def way_tree_hang(_):
    tree()
    os.write(1, b"ready\n")
    sleep_on()


def way_tree_deaf(_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    way_tree_hang(_)


def way_storm(count):
    for _ in range(int(count)):
        child(own_session)
    os.write(1, b"ready\n")


def way_hold_stdout(_):
    child(own_session)
    print("done", flush=True)


def way_hang(_):
    os.write(1, b"ready\n")
    sleep_on()


def way_polite(_):
    def leave(*_):
        os.write(1, b"bye\n")
        os._exit(5)

    signal.signal(signal.SIGTERM, leave)
    way_hang(_)


def way_stop_self(_):
    os.write(1, b"ready\n")
    os.kill(os.getpid(), signal.SIGSTOP)
    sleep_on()


def way_spin(seconds):
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        pass
    print("spun")


def way_read_stdin(_):
    total = 0
    while part := os.read(0, 1 << 16):
        total += len(part)
    print(total)


def way_flood(megabytes):
    block = b"x" * 1023 + b"\n"
    for _ in range(int(megabytes)):
        os.write(1, block * 1024)
    os.write(1, b"THE END")


def way_one_line(megabytes):
    for _ in range(int(megabytes)):
        data = b"y" * (1 << 20)
        while data:
            data = data[os.write(1, data) :]


def way_garbage(_):
    os.write(1, bytes(range(256)) * 10 + b"\xff\xfe\x00\x1b[31m")


def way_kill_parent(_):
    child(own_session)
    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except OSError as error:
        print("refused", error)
    time.sleep(0.3)
    print("still here", flush=True)


def way_eat(megabytes):
    kept = bytearray(int(megabytes) << 20)
    kept[::4096] = b"x" * len(kept[::4096])
    print("full", flush=True)
    sleep_on()


def way_env(_):
    for name in sorted(os.environ):
        print(name + "=" + os.environ[name])


if __name__ == "__main__":
    globals()["way_" + sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "")
