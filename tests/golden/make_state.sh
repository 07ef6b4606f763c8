#!/bin/sh
# Made state.tar.gz once, with the Ralph of commit db27876, and is kept to say what is in it. It is not part of
# the tests: the archive stands for loops that users have from that version and is never made anew.
#   make_state.sh /path/to/that/ralph
set -eu
ralph=$1
here=$(cd "$(dirname "$0")" && pwd)
top=/tmp/ralph-golden
[ ! -e $top ] || { echo "$top is in the way" >&2; exit 1; }
mkdir -m 700 -p $top/state $top/config/ralph $top/home $top/outside $top/repo
cat > $top/agent.sh <<'AGENT'
#!/bin/sh
# fix: does it at once; steps: half of it, then the rest; idle: changes nothing
cat > /dev/null
case "$1" in
  fix) echo right > value.txt ;;
  steps)
    if grep -qx wrong value.txt; then
      echo half > value.txt
      while [ ! -e /tmp/ralph-golden/outside/go ]; do sleep 0.1; done
    else
      echo right > value.txt
    fi ;;
esac
echo "I worked on value.txt"
AGENT
chmod 755 $top/agent.sh
cd $top/repo
git init -q -b main
printf 'wrong\n' > value.txt
printf '#!/bin/sh\ngrep -qx right value.txt && echo "it is right" || { cat value.txt; exit 1; }\n' > check.sh
chmod 755 check.sh
git add -A
git -c user.name=somebody -c user.email=somebody@example.invalid commit -q -m "a value that is wrong"
run() {
  env -i PATH=/usr/bin:/bin HOME=$top/home XDG_CONFIG_HOME=$top/config RALPH_STATE_DIR=$top/state \
    RALPH_CONFIRM=1 LANG=C.UTF-8 "$ralph" "$@"
}
start() {
  name=$1
  shift
  run loop "make check.sh pass" --check ./check.sh --class test-pass --loop-id "$name-00000000" --display plain \
    --allow-write $top/outside "$@"
}
start verified --agent-cmd "$top/agent.sh fix"
start exhausted --agent-cmd "$top/agent.sh idle" --max-iterations 1 || [ $? -eq 1 ]
start paused --agent-cmd "$top/agent.sh steps" &
until run logs paused 2>/dev/null | grep -q AgentStarted; do sleep 0.2; done
run pause paused
touch $top/outside/go
wait $! || [ $? -eq 1 ]
run status --all
rm -rf $top/state/reserve $top/state/protection.json
tar -C /tmp --owner=0 --group=0 --sort=name -czf "$here/state.tar.gz" ralph-golden
ls -l "$here/state.tar.gz"
