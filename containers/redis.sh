#!/bin/sh
# Starts Redis with a user for engines beside the owner: they share memory with hostile code and reach the keys of the
# cache alone (runtime/supervisor/services/cache-user.ts has the same rights). For Debian's image and the official one.
set -eu
: "${CACHE_PASSWORD:?platform secrets init makes it}" "${ENGINE_CACHE_PASSWORD:?platform secrets init makes it}"
umask 077
cat > /tmp/redis.conf <<CONF
bind 0.0.0.0
dir /data
appendonly yes
user default on >$CACHE_PASSWORD ~* &* +@all
user platform_engine on >$ENGINE_CACHE_PASSWORD ~cache:* +get +set +del +ping +hello +auth +select
CONF
exec redis-server /tmp/redis.conf
