#!/bin/sh
# Installs platform from a release archive, or upgrades it:  sh install.sh platform-0.2.0-linux-x64.tar.gz
#   --key FILE     trust only archives signed with this key (release.pub)
#   --no-service   do not create a systemd unit
#   --force        install although a check of the machine failed
#   --undo         go back to the version before the last upgrade
#   --uninstall    remove the program and its unit; data, settings and the user who owns them stay
# As root: /opt/platform, data in /var/lib/platform, settings in /etc/platform, run by the user `platform`.
# As another user: all in ~/.platform. Nothing is downloaded.
set -eu

fail() { echo "install.sh: $1" >&2; [ -z "${2:-}" ] || echo "  $2" >&2; exit 1; }

archive='' key='' service=yes force='' undo='' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
    --key) [ $# -gt 1 ] || fail '--key needs a file'; key=$2; shift ;;
    --no-service) service='' ;;
    --force) force=yes ;;
    --undo) undo=yes ;;
    --uninstall) uninstall=yes ;;
    -h | --help) sed -n '2,9s/^# *//p' "$0"; exit 0 ;;
    -*) fail "there is no option $1" 'sh install.sh --help lists the options.' ;;
    *) [ -z "$archive" ] || fail "one archive, not also $1"; archive=$1 ;;
  esac
  shift
done

if [ "$(id -u)" = 0 ]; then
  home=/opt/platform data=/var/lib/platform settings=/etc/platform/platform.env
  command=/usr/local/bin/platform units=/etc/systemd/system target=multi-user.target
  control() { systemctl "$@"; }
else
  home=$HOME/.platform data=$HOME/.platform/data settings=$HOME/.platform/platform.env
  command=$HOME/.local/bin/platform units=$HOME/.config/systemd/user target=default.target
  control() { systemctl --user "$@"; }
fi
control show-environment >/dev/null 2>&1 || service=''

if [ -n "$uninstall" ]; then
  [ -z "$archive" ] || fail '--uninstall takes no archive'
  [ -d "$home/releases" ] || fail "platform is not installed in $home"
  [ -z "$service" ] || [ ! -f "$units/platform.service" ] || control disable --now platform.socket platform.service
  rm -f "$units/platform.service" "$units/platform.socket"
  [ -z "$service" ] || control daemon-reload
  rm -rf "$home/releases" "$home/current" "$home/release.pub" "$home/pending.sh" "$home/upgrade.log" "$command"
  rmdir "$home" 2>/dev/null || true
  echo "platform is uninstalled. Data stays in $data, settings in $settings."
  exit 0
fi

# Upgrades, or goes back. The service does it before it starts again, while connections wait.
upgrade() {
  if [ -z "$service" ] || [ ! -f "$units/platform.service" ]; then
    if [ "$1" = --undo ]; then "$command" upgrade --undo --yes; else "$command" upgrade "$1"; fi
    return
  fi
  before=$(readlink "$home/current")
  rm -f "$home/upgrade.log"
  echo "$1" >"$home/pending"
  control restart platform.service || true
  cat "$home/upgrade.log" || true
  [ "$(readlink "$home/current")" != "$before" ]
}
if [ -n "$undo" ]; then
  [ -z "$archive" ] || fail '--undo takes no archive'
  [ -e "$home/current" ] || fail "platform is not installed in $home"
  upgrade --undo || fail 'the version was not changed: see above'
  exit 0
fi

# Checks first: nothing is written but a temporary folder.
[ -n "$archive" ] || fail 'name an archive' 'sh install.sh platform-0.2.0-linux-x64.tar.gz; --help lists the options.'
[ -f "$archive" ] || fail "there is no file $archive"
[ "$(uname -s)" = Linux ] || fail "platform runs on Linux, and this is $(uname -s)"
case $(uname -m) in
  x86_64) system=linux-x64 ;;
  aarch64) system=linux-arm64 ;;
  *) fail "there is no archive for $(uname -m), only for x86_64 and aarch64" ;;
esac
name=$(basename "$archive")
case $name in
  platform-*-$system.tar.gz) ;;
  *) fail "$name is not for this machine" "Use platform-<version>-$system.tar.gz." ;;
esac
for program in tar gzip sha256sum; do command -v $program >/dev/null || fail "$program is not installed"; done
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //') || true
case $glibc in
  2.2[89] | 2.[3-9]?) ;;
  *) fail "this system has ${glibc:+glibc }${glibc:-another C library}" 'Use one with glibc 2.28 or newer, such as Debian 12.' ;;
esac
folder=$(cd "$(dirname "$archive")" && pwd)
[ -f "$folder/$name.sha256" ] || fail "there is no $name.sha256 beside the archive"
(cd "$folder" && sha256sum --check --strict --status "$name.sha256") ||
  fail "$name is damaged or was changed: its SHA-256 is not that of $name.sha256" 'Download both again.'
if [ -n "$key" ]; then
  command -v openssl >/dev/null || fail '--key needs openssl'
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$folder/$name.sha256" -sigfile "$folder/$name.sha256.sig" \
    >/dev/null 2>&1 || fail "$name.sha256 is not signed with the key $key"
fi

# Named by its content: another build of the same version is another release.
id=${name%.tar.gz}-$(cut -c1-12 "$folder/$name.sha256")
release=$home/releases/$id
if [ "$(readlink "$home/current" || true)" = "releases/$id" ]; then
  echo "$id is installed already."
  exit 0
fi
token=''
if [ -e "$home/current" ]; then
  [ -z "$key" ] || cp "$key" "$home/release.pub"
  upgrade "$folder/$name" || fail 'the upgrade was not made: the version before is in use'
else
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
  tar -xzf "$folder/$name" -C "$temporary" --strip-components=1 --no-same-owner
  echo 'Checking this machine'
  env HOME="$temporary" FS_PATH="$data" "$temporary/bin/platform" doctor || [ -n "$force" ] ||
    fail 'a check failed: see above' 'Fix it, or add --force to install anyway.'

  if [ "$(id -u)" = 0 ]; then
    id platform >/dev/null 2>&1 ||
      useradd --system --user-group --home-dir "$data" --no-create-home --shell /usr/sbin/nologin platform
    install -d -o platform -g platform -m 0750 "$data" "$data/.platform"
    install -d -m 0755 "$home" "$home/releases" "$(dirname "$settings")"
  else
    install -d -m 0700 "$home" "$home/releases" "$data"
  fi
  rm -rf "$release"
  cp -R "$temporary" "$release"
  chmod 0755 "$release"
  [ -z "$key" ] || cp "$key" "$home/release.pub"
  [ -f "$home/release.pub" ] || [ ! -f "$release/release.pub" ] || cp "$release/release.pub" "$home/release.pub"
  if [ ! -f "$settings" ]; then
    printf '# Variables of the platform: docs/variables.md. Restart it after a change.\nFS_PATH=%s\n' "$data" >"$settings"
    chmod 0640 "$settings"
    [ "$(id -u)" != 0 ] || chgrp platform "$settings"
  fi
  ln -sfn "releases/$id" "$home/current"
  token=$data/secrets/first-run-token
  echo "Installed $id in $release"
fi
. "$release/install/place.sh"
