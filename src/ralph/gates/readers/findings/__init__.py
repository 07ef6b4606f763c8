"""What did a linter, type checker or coverage tool report?"""
