"""Gates as translation: a command line in, argv out; what a process left behind in, a Reading out.

`seal` turns a command into a sealed Gate, `readers` turn output and reports into readings, `guards`
look at how a result came about. Nothing here spawns a process or opens a file: the shell does both
and hands over bytes.
"""
