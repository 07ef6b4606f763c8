"""What did a test runner report, test by test?"""
