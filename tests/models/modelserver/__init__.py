"""A scripted model server: real wire protocols, answers from a script. Stdlib only, loopback only."""
