#!/bin/sh
# Before the service starts: the upgrade or the way back that install.sh asked for. The output is for install.sh. If it
# fails, the service starts the version that is there.
[ -f @HOME@/pending ] || exit 0
# The user of the service reads the release.
umask 022
words=$(cat @HOME@/pending)
rm @HOME@/pending
case $words in
  --undo) set -- --undo --yes ;;
  *) set -- "$words" ;;
esac
exec @COMMAND@ upgrade "$@" >@HOME@/upgrade.log 2>&1
