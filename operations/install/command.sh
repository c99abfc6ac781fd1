#!/bin/sh
# The command `platform`, as install.sh installed it. Users who can read the settings use their data folder. Root uses
# the running platform as its owner, and works on data as the user `platform`; only an upgrade runs as root, to write
# into @HOME@.
if [ -r @SETTINGS@ ]; then
  set -a
  . @SETTINGS@
  set +a
fi
case ${1:-} in
  upgrade) exec env PLATFORM_HOME=@HOME@ @HOME@/current/bin/platform "$@" ;;
  start | backup | restore | doctor)
    [ "$(id -u)" != 0 ] || exec setpriv --reuid platform --regid platform --init-groups \
      env HOME=@DATA@ PLATFORM_CACHE_DIR=@DATA@/cache @HOME@/current/bin/platform "$@" ;;
esac
[ "$(id -u)" != 0 ] || export PLATFORM_HOME=@DATA@/.platform
exec @HOME@/current/bin/platform "$@"
