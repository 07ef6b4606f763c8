"""The usual places of a backlog and its PRDs; S3's among them."""

NAME = "feature_list.json"
FOLDERS = (".ralph/backlog", ".claude/harness")
PRDS = (".ralph/prd", ".claude/prd")
