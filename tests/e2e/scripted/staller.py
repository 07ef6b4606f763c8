#!/usr/bin/env python3
"""Reads, talks, changes nothing, ends well."""

from _lib import more, read

read("calc.py")
more("I am still looking at the code")
