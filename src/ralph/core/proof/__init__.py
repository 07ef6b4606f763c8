"""Is it done, how strong is the proof, and what changed between two readings?"""
