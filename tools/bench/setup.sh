#!/usr/bin/env bash
# Builds what peers.json names: one virtual environment per contender, this checkout among them, and the Node packages.
# Idempotent: what is there already is left as it is.
#   ./setup.sh          everything
#   ./setup.sh ours     this checkout only
#   ./setup.sh quick    this checkout and the peers that lead the tables, in about a minute
# BENCH_HOME: where to (default ~/.cache/cdp-bench). PYTHON: with which interpreter (3.11 or newer).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../.." && pwd)
home=${BENCH_HOME:-$HOME/.cache/cdp-bench}
python=${PYTHON:-python3.11}
what=${1:-all}

make_venv() { # name, what to install…
  local venv=$home/venvs/$1
  shift
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check "$@"
}

mkdir -p "$home/venvs" "$home/node"
make_venv ours -e "$checkout"
if [ "$what" != ours ]; then
  make_venv trio trio==0.35.0 trio-websocket==0.12.2 attrs msgspec orjson websockets
  make_venv rawws websockets==17.4 attrs==26.1.0 msgspec orjson picows==2.3.1 uvloop
  make_venv cdpuse cdp-use==1.4.5
  make_venv nodriver nodriver==0.50.99
  make_venv pydoll pydoll-python==3.0.0
fi
if [ "$what" = all ]; then
  make_venv zendriver zendriver==0.17.1
  make_venv pwpy playwright==1.65.2
  make_venv pyppeteer pyppeteer==2.0.0
  make_venv triocdp trio-chrome-devtools-protocol==0.6.0
  (cd "$home/node" && npm install --silent --no-fund --no-audit --ignore-scripts \
    chrome-remote-interface@0.34 playwright-core@1.65 puppeteer-core@24 ws@8)
  ln -sfn "$home/node/node_modules" "$here/node_modules" # ES modules are looked for beside those that import them
fi
echo "ready in $home"
