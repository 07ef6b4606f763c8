#!/bin/sh
# What the tests need from the system, and further COMMAND:PACKAGE pairs. Installed when root; else said loudly, and the tests that need it fail.
set -eu
missing=""
# Where every user finds them: a cargo in root's home is none for anybody else.
[ "$(id -u)" = 0 ] && PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for pair in bwrap:bubblewrap git:git strace:strace node:nodejs tmux:tmux chromium:chromium zsh:zsh fish:fish \
    groff:groff-base go:golang-go cargo:cargo javac:default-jdk-headless mvn:maven "$@"; do
    command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
# Maven's plugins as Debian packages: its own download would need the network inside a gate's box.
if command -v dpkg-query >/dev/null 2>&1; then
    for package in libsurefire-java libmaven-compiler-plugin-java libmaven-resources-plugin-java junit4; do
        dpkg-query -W "$package" >/dev/null 2>&1 || missing="$missing $package"
    done
fi
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "warning: missing system packages:$missing (install them, or run make test as root)" >&2
fi
