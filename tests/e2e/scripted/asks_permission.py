#!/usr/bin/env python3
"""Is denied two commands in every call, changes nothing, says that work is left."""

from _lib import event, more

event("denied", what="npm install left-pad")
event("denied", what="rm -rf build")
more("I need permission to go on")
