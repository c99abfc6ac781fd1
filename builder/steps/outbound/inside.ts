// The build's side of its outgoing connections: next to the command, it runs a proxy on the build's loopback interface,
// and forwards the ports of registries on the machine. The proxy enforces nothing, since untrusted code runs as the
// same user. Started by install.ts; child.ts starts the same proxy in its own process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { constants } from 'node:os';
import { extname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { nodeFlags } from '#core/node-flags.mjs';
import { nodeCommand } from '#core/process/node-command.ts';
import { PROXY_VARIABLES, reach, startProxy } from '#core/outbound/proxy.ts';
import { targetOf } from '#core/outbound/target.ts';
import type { Place } from './reach.ts';

/** How a build reaches allowed hosts. */
export interface BuildOutbound {
  /** Path of the socket. */
  readonly socket: string;
  readonly loopback: readonly Place[];
}

/** Path of the mounted socket folder in a build, and the socket's name. */
export const SOCKET_FOLDER = '/run/outbound';
export const SOCKET_NAME = 'out.sock';

const PROGRAM = join(import.meta.dirname, `inside${extname(import.meta.filename)}`);
const HEAP_MB = 64;

/** Configure package managers to use the proxy, overriding the machine's settings. */
export const OUTBOUND_VARIABLES: Readonly<Record<string, string>> = {
  ...PROXY_VARIABLES,
  npm_config_proxy: PROXY_VARIABLES['HTTP_PROXY']!,
  npm_config_https_proxy: PROXY_VARIABLES['HTTPS_PROXY']!,
  npm_config_noproxy: PROXY_VARIABLES['NO_PROXY']!,
  YARN_HTTP_PROXY: PROXY_VARIABLES['HTTP_PROXY']!,
  YARN_HTTPS_PROXY: PROXY_VARIABLES['HTTPS_PROXY']!,
};

/** The program's argument, as JSON. */
interface Job extends BuildOutbound {
  readonly words: readonly string[];
  /** `NODE_OPTIONS` of the command. */
  readonly nodeOptions: string | null;
}

/** Wraps a command with its outgoing proxy; returns it unchanged if the build needs no proxy. */
export function withOutbound(
  outbound: BuildOutbound | null,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): { readonly words: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  if (outbound === null) return { words, env };
  // The project's NODE_OPTIONS are only for its own programs.
  const { NODE_OPTIONS: nodeOptions = null, ...others } = env;
  const job: Job = { ...outbound, words, nodeOptions };
  const node = [...nodeCommand(), ...nodeFlags, `--max-old-space-size=${HEAP_MB}`];
  return { words: [...node, PROGRAM, JSON.stringify(job)], env: others };
}

/** Starts the proxy. Resolves when its ports listen. The ports do not keep the process alive. */
export async function startOutbound({ socket: path, loopback }: BuildOutbound): Promise<void> {
  const open = (target: string): Duplex => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.on('error', () => {}).write(`${target}\n`);
    return socket.unref();
  };
  const servers = [startProxy(open) as Server, ...loopback.map((place) => forwardPort(place, open))];
  for (const server of servers) server.on('connection', (socket) => socket.unref()).unref();
  await Promise.all(servers.map((server) => Promise.race([once(server, 'listening'), once(server, 'close')])));
}

/** Forwards a port of the build's loopback interface to the same port of the machine's loopback interface. */
function forwardPort({ host, port }: Place, open: (target: string) => Duplex): Server {
  const target = targetOf(host, port);
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    client.on('error', () => {});
    reach(target, open).then(
      (outside) => {
        outside.pipe(client).pipe(outside);
        outside.once('close', () => client.destroy());
        client.once('close', () => outside.destroy());
      },
      () => client.destroy(),
    );
  });
  server.on('error', () => server.emit('close'));
  return server.listen(port, host === '::1' ? host : '127.0.0.1');
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2]!) as Job);

async function main({ words, nodeOptions, ...way }: Job): Promise<void> {
  await startOutbound(way);
  const env = { ...process.env, ...(nodeOptions !== null && { NODE_OPTIONS: nodeOptions }) };
  const command = spawn(words[0]!, words.slice(1), { stdio: 'inherit', env });
  command.once('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(127);
  });
  command.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal!]));
}
