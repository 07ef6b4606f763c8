"""What can be asked of a session in a host: to be judged, to stop, to go on outside?"""
