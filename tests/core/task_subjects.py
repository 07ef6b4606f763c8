"""Subjects as they stand in public histories, in our own words, with the class that a reader would say."""

SUBJECTS: dict[str, str] = {
    "implement-feature": """
Add test cases for digits
Add failing test case for empty rows
test: add cases for empty input
test(parser): cover nested quotes
tests: add a test for redirects
Add tests for the parser
Add a regression test for #12
Add missing tests for the cache
Add test for request params behaviour
Added unit tests for slugify
Cover the error path of the client
Test the retry logic
Write tests for the new API
feat: retry failed uploads
feat(parser): accept tabs as separators
feat(cli)!: print JSON by default
feature: dark theme
feat: wire the cache to the session
feat(api): let clients choose the page size
Feat: export to CSV
Add support for pathlib.Path in open_file
Add an option to hide defaults in help
Added a --quiet flag
Adds a hook that is called before each request
Adding custom formats to the printer
Add NoSuchCommand exception with suggestions
Add timeout parameter to connect()
Allow None as a separator
Allow multiple values for --exclude
Allows passing a callable as default
Support incremental output in the pager
Support Python 3.13
Supports nested groups in filters
Let users pick the output folder
Enable response streaming for HTTP/2
Expose the underlying socket
Expose parse errors to callers
Accept iterables of pairs as headers
Accept an empty path in join()
Introduce a plugin interface
Implement option for printing custom formats
Implements the RFC 7807 error body
Provide a default renderer
Handle gzip responses
Handle YAML front matter
Make the timeout configurable
Make the separator optional
Make --color accept "auto"
Make the parser support comments
Make commands return their exit code
Make Session usable as a context manager
Show the elapsed time after each test
Show hidden files with --all
Print a summary at the end
Display the version in the footer
Emit an event when a worker stops
Log the request id
Warn when a deprecated option is used
Warn about unused filters
Detect the terminal width
Detect invalid licence expressions containing parentheses
Parse durations such as 1h30m
Include the query string in the cache key
Export types for the middleware
Pass context to completion functions
Forward signals to the child process
Return an error for unrunnable subcommands
Return the number of rows that were changed
Validate the port before binding
Register a custom loader for .env files
Automatically detect the encoding
Cache compiled templates between requests
Store sessions in Redis
Load plugins from entry points
Generate completions for fish
Create an endpoint for uploads
Extend the filter language with "in"
Change the default timeout to 30 seconds
Change exit code to 2 for usage errors
Update the parser to accept trailing commas
Use the user's locale instead of English
Use exponential backoff for retries
Improve error messages for missing files
Improve support for wide characters
Better error message for a missing config
New option --max-depth
Option to disable colours
Ability to mount several apps
Support for custom resolvers
Initial implementation of the scheduler
Optional compression of responses
Reintroduce the legacy URL types
walk: flush stdout in batches
net/http: add a Transport option for proxies
[router] Add wildcard routes
PROJ-123: Add bulk delete
✨ Add dark mode
:sparkles: add import from CSV
(#123) Add a progress bar
Deprecate the old callback signature
Add a German translation
Add retries to the client and document them
""",
    "bug-fix": """
fix: crash on empty input
fix(parser): handle trailing commas
fix(core)!: return undefined for invalid media types
fix: add missing header on redirects
fix(types): add missing types for mergeConfig
fix: normalize all extras, not just the first one
fix(ranges): stop unbounded bounds sorting above each other
fix: the error of calling extend with parameters
bugfix: wrong offset after a daylight saving change
hotfix: login loop
Fix typo in the config key that disables caching
Fix quoting of arguments on Windows
Fixed a memory leak in the pool
Fixes #12: wrong order of results
Fixes crash when the folder is missing
Fixing race between close and read
Resolve the deadlock in the scheduler
Correct the rounding of negative amounts
Handle empty files
Handle None in the serializer
Handle missing Content-Length
Handle errors from the backend when the pool is closed
Handle KeyboardInterrupt while waiting
Handle unicode in header values
Prevent duplicate events after a reconnect
Prevent path traversal in static files
Avoid a crash when the config is empty
Avoid infinite recursion in cyclic graphs
Avoid dividing by zero for empty series
Don't drop the last chunk
Don't fail when HOME is not set
Do not swallow exceptions in callbacks
Do not send cookies to other hosts
Never follow redirects to file URLs
Stop leaking file descriptors
Stop retrying after a cancelled request
Ensure JSON output is compact
Ensure the lock is released on error
Ensure that headers are lower case
Make sure the temporary file is removed
Respect NO_COLOR
Respect an explicitly empty tag sequence
Honor the --config option in subcommands
Honour proxies from the environment
Raise ValueError when the limit is negative
Raise TypeError for non-string keys
Raise an error when two routes collide
Throw if the stream is closed
Reject negative sizes
Reject names with a double hyphen
Ignore blank lines in the index
Ignore case when comparing hosts
Skip broken symlinks
Preserve the order of keys
Preserve explicitly empty platform lists
Keep the trailing newline when rewriting a file
Restore the cursor after an abort
Strip ANSI codes when the stream is no terminal
Escape quotes in attribute values
Percent-decode file names that come from a URL
Close the response body on errors
Check for None before comparing versions
Catch timeouts of the resolver
Guard against reentrant calls
Fall back to UTF-8 when the locale is unknown
Treat an empty string as missing
Properly close idle connections
Correctly parse quoted commas
Sanitize file names in uploads
Protect against XML bombs
Work around a bug in OpenSSL 3.0.2
Reset lastIndex before testing a global pattern
Missing await in the upload handler
Wrong month in the report header
Incorrect escaping of backslashes
Broken pagination on the last page
Login fails when the password holds a colon
The export does not include archived rows
parse_date raises KeyError for ISO weeks
--verbose is ignored by subcommands
Server hangs if the client disconnects early
Cannot delete a project with tags
TypeError when the list is empty
KeyError: 'id' in sync
Division by zero in mean()
Off-by-one in slice
Race condition in the connection pool
json: fix decoding of surrogate pairs
server: don't panic on malformed frames
🐛 Fix scrolling on Safari
""",
    "docs": """
docs: fix typo
docs(tags): add a note on ordering
docs: update the examples of the reply API
doc: explain how plugins are loaded
Docs: mention the new option
fix typo in docs
Fix typo
Fix typos in README
Fix a typo in a docstring
Fix typo in entry-points.rst
Fix grammar in the contributing guide
fix: typo in README
fix: broken link in the docs
Fix broken links in the style guide
Correct spelling in comments
typo fix
Typo
Update README
Update README.md
Update the README
Update CHANGELOG.md
Update the changelog for 2.1
Updated the documentation of filters
Improve the docs of the scheduler
Improve docstrings
Clarify the upgrade guide
Clarify how timeouts are counted
Document the retry option
Document suggested layout for subcommands
Describe the release process
Explain the cache keys in the manual
Mention Windows in the installation notes
Reword the introduction
Add documentation for repeated flags
Add docs for the plugin API
Add a migration guide
Add a changelog entry
Add missing changelog entries
Add comments about the test cases
Add examples to the docs
Add a FAQ
Write a tutorial for beginners
Remove outdated section from the README
Rewrite the getting started guide
Expand the docstring of parse()
README: fix the badge
chore(docs): fix contribution guide
chore: update changelog
Use absolute links in the documentation
Don't mention the old option in the docs
Ensure the docs mention Python 3.13
Move the installation notes to the README
""",
    "coverage": """
Increase test coverage of the router
Write tests for what is not covered yet
""",
    "regression": """
Fix incorrectly-named test suite function (#16)
Add fuzzing for the header parser
Add benchmarks
refactor: split the parser
refactor(parser)!: drop the old grammar
refactor!: remove deprecated aliases
chore: bump qs to 6.15
chore(deps): bump loader-utils from 1.4.1 to 1.4.2
chore(release): v1.7.9
build(deps): bump actions/checkout from 5 to 6
build: eslint@8.47.0
ci: add Python 3.15 to the matrix
ci(downstream): pin the runner
perf: avoid copying the buffer
perf(router): cache the trie
style: sort imports
revert: retry failed uploads
deps: body-parser@^2.2.0
test: refactor the helpers
test: fix flakiness of the close test
tests: remove duplicate utils
Rename Client to Session
Rename the internal helpers
Renamed test files
Move the parser to its own module
Moved constants to settings.py
Extract a helper from the loader
Extract the retry logic from client.py
Inline the wrapper
Split utils into modules
Merge the two loaders
Simplify the and/or check
Refactor the auth module
Reorganise the package layout
Restructure the tests
Clean up imports
Cleanup
Tidy the build scripts
Remove dead code
Remove duplicate helpers
Remove unused imports
Delete the legacy folder
Drop Python 3.8 support
Drop the dependency on six
Bump coverage from 7.3.0 to 7.4.0
Bump version to 2.0.1
Upgrade ruff
Upgrade to Go 1.23
Update dependencies
Update pre-commit hooks
Update GitHub actions
Pin markdown below 3.4
Replace deprecated ioutil usage
Replace the last typing.Union with PEP 604 syntax
Replace cgi, which is gone in Python 3.13
Use pathlib instead of os.path
Use f-strings instead of format()
Use dataclasses instead of namedtuple
Use `Mapping` from collections.abc
Use pytest fixtures in the tests
Convert the tests to pytest
Migrate to pyproject.toml
Port the build to meson
Switch to uv
Unify the error classes
Deduplicate the setup code
Consolidate the settings modules
Modernise type annotations of the client
Reformat with black
Sort the imports
Speed up the tokenizer
Optimise the hot loop
Reduce allocations in the encoder
Avoid copying the buffer twice
Avoid private imports in test cases
Avoid unnecessary work in the scheduler
Skip the slow tests on Windows
Don't run CI on forks
Do not test on Python 3.8
Ensure CI uses the lock file
Enable the test suite for PRs to version branches
Allow CI to be started by hand
Mark a test as xfail on PyPy
Parametrize the encoding tests
Use tmp_path in the tests
Make the helper private
Make the code more readable
Make the encoder faster
Add a GitHub Actions workflow
Add dependabot
Add .gitignore
Add Python 3.13 to CI
Add pre-commit config
Add py.typed
Release 5.2.0
5.1.0
v1.2.0
Merge branch 'main' into dev
Revert "Add bulk delete"
Prepare the 3.0 release
Vendor the tokenizer
Apply suggestions from code review
Group dependency updates
Fix flaky test on Windows
cargo fmt
formatting
""",
    "lint-clean": """
fix: lint
fix: new clippy warnings
Fix lint errors in src
""",
    "type-clean": """
fix: type errors in the client
Add type hints to the client
Fix mypy errors
""",
    "test-pass": """
fix: failing tests
Fix the tests on Windows
""",
    "build-pass": """
Fix the build
fix: build
""",
}
ROWS = [(name, line) for name, text in SUBJECTS.items() for line in text.strip().splitlines()]
