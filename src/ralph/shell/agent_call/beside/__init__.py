"""Who is called beside the work: a role of a team before it, two readers of its result at once?"""
