"""Run a command where there is no network but loopback: what it reaches, it reaches on this machine.

    python tests/models/lonely.py COMMAND [ARGUMENT…]

A new network namespace with `lo` up; a plain user gets a user namespace around it, in which it stays itself.
The scripted server must be started inside. Exit 77 where the machine allows no namespaces.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys

NEWUSER, NEWNET = 0x10000000, 0x40000000
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 0x1
CANNOT = 77


def enter() -> None:
    """Leave the machine's network. Raises OSError where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(NEWNET if uid == 0 else NEWNET | NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace")
    if uid != 0:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(line, GET_FLAGS, request))[1]
        fcntl.ioctl(line, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | UP))


def main(argv: list[str]) -> int:
    try:
        enter()
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
    return CANNOT


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
