"""How are files of strangers removed and walked, and sizes read and written?"""
