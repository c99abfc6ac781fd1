# Writes the command and the units of a release, and starts the service. The last part of install.sh, with its variables.
# Writes a file of the release, for this installation.
place() {
  sed -e "$cut; s|@HOME@|$home|g; s|@DATA@|$data|g; s|@SETTINGS@|$settings|g; s|@COMMAND@|$command|g" \
    -e "s|@LISTEN@|$listen|g; s|@TARGET@|$target|g" "$release/install/$1" >"$2"
}
[ "$(id -u)" = 0 ] && cut='/^#system$/d; /^#end$/d' || cut='/^#system$/,/^#end$/d'
listen=$(. "$settings" && case ${HANDLER_HOST:-localhost} in
  localhost) echo "127.0.0.1:${HANDLER_PORT:-4001}" ;;
  *:*) echo "[$HANDLER_HOST]:${HANDLER_PORT:-4001}" ;;
  *) echo "$HANDLER_HOST:${HANDLER_PORT:-4001}" ;;
esac)
install -d "$(dirname "$command")"
place command.sh "$command"
chmod 0755 "$command"

if [ -z "$service" ]; then
  echo "Start it with \`$command start\`."
  exit 0
fi
install -d "$units"
place pending.sh "$home/pending.sh"
place platform.service "$units/platform.service"
place platform.socket "$units/platform.socket"
control daemon-reload
control enable --now platform.socket platform.service
node=$(echo "$release"/node_modules/node-linux-*/bin/node)
for _ in $(seq 120); do
  if "$node" -e 'fetch("http://127.0.0.1:4002/health").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))'; then
    echo "Dashboard: http://localhost:3002${token:+  First-run token: $(cat "$token")}"
    exit 0
  fi
  sleep 1
done
fail 'the platform does not respond' "Its log: journalctl -u platform.service"
