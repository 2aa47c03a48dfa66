#!/bin/sh
# Every benchmark that needs neither recordings nor another program, for the tables of README.md.
# Run it on idle cores: it takes about an hour. Its exit code is 1 if one of them fails or misses
# an aim.
cd "$(dirname "$0")" || exit 1
unset PYTHONDONTWRITEBYTECODE
failed=0
measure() {
  echo "--- $*"
  python "$@" || failed=1
}
measure startup.py
measure screen.py
measure keystroke.py
measure table.py
measure loop.py
measure loop.py --encoder pair --sizes 10000
measure loop.py --encoder minilm --sizes 10000
measure responsiveness.py
measure responsiveness.py --prompts 4000 --encoder pair
measure responsiveness.py --prompts 50000 --encoder pair
measure remote.py
measure judge.py
measure decisions.py
measure sweep.py
measure html_report.py
measure scale.py --rows 200000
exit $failed
