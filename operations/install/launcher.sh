#!/bin/sh
# bin/platform of a release archive: runs its program with its own Node. Builds use the machine's npm, else its own.
here=$(dirname "$(readlink -f "$0")")
for node in "$here"/../node_modules/node-linux-*/bin/node; do :; done
export PATH="$PATH:$here"
exec "$node" "$here/../node_modules/@platform-run/cli/cli/run.mjs" "$@"
