#!/bin/sh
# Starts Postgres in its container: makes the data where there is none, and gives its owner the password of this start.
# The variables are those of the official image. Called by Dockerfile.services.
set -eu
user=${POSTGRES_USER:-platform}
database=${POSTGRES_DB:-$user}
[ -n "${POSTGRES_PASSWORD:-}" ] || { echo 'POSTGRES_PASSWORD is not set: `platform secrets init` makes SQLDB_PASSWORD' >&2; exit 78; }
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
major=$(postgres --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
if [ -s "$PGDATA/PG_VERSION" ] && [ "$(cat "$PGDATA/PG_VERSION")" != "$major" ]; then
  echo "The data in $PGDATA is of Postgres $(cat "$PGDATA/PG_VERSION"), this is $major: start the image of that version, back up, and restore into this one" >&2
  exit 78
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Beside its place: a start that is cut off leaves nothing that looks whole.
  rm -rf "$PGDATA/unfinished"
  initdb -D "$PGDATA/unfinished" -U "$user" -E UTF8 --locale=C --auth-local=peer --auth-host=scram-sha-256 >/dev/null
  find "$PGDATA/unfinished" -mindepth 1 -maxdepth 1 ! -name PG_VERSION -exec mv -t "$PGDATA" {} +
  mv "$PGDATA/unfinished/PG_VERSION" "$PGDATA/" && rmdir "$PGDATA/unfinished"
fi
printf 'local all all peer map=own\nhost all all all scram-sha-256\n' > "$PGDATA/pg_hba.conf"
printf 'own postgres %s\n' "$user" > "$PGDATA/pg_ident.conf"
# Single-user: nobody can connect while the password of an earlier start holds.
{
  printf "ALTER ROLE \"%s\" PASSWORD '%s'\n" "$user" "$(printf %s "$POSTGRES_PASSWORD" | sed "s/'/''/g")"
} | postgres --single -D "$PGDATA" postgres >/dev/null
printf "SELECT 1 FROM pg_database WHERE datname = '%s'\n" "$database" | postgres --single -D "$PGDATA" postgres | grep -q '"1"' ||
  printf 'CREATE DATABASE "%s"\n' "$database" | postgres --single -D "$PGDATA" postgres >/dev/null
unset POSTGRES_PASSWORD
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp -c shared_buffers="${POSTGRES_SHARED_BUFFERS:-128MB}" "$@"
