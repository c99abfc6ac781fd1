// A listening socket that outlives the platform, as systemd keeps that of platform.socket: a shell holds it, and starts
// the platform with it whenever it is asked to.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** Starts the words of its command with descriptor 3 for each line of its input. */
const KEEPER = `while read -r line; do
  sh -c 'export LISTEN_PID=$$ LISTEN_FDS=1; echo "pid $$"; exec "$@"' sh "$@" 2>&1
  echo "ended $?"
done`;
const READY = /^Ctrl-C stops it$/;

/** A kept socket. */
export interface SocketKeeper {
  readonly port: number;
  /** Starts the platform; resolves with what it printed when it is ready. */
  start(): Promise<string>;
  /** Starts it; resolves with what it printed, and its exit code. */
  startInVain(): Promise<{ readonly output: string; readonly code: number }>;
  /** Ends it by SIGTERM; resolves when it has exited with 0. */
  stop(): Promise<void>;
  /** The body of `GET /` of a project, on a connection of its own; the error's code if there is none. */
  ask(project: string): Promise<string>;
  /** Ends all that still runs. */
  close(): void;
}

/** @param command words that start the platform. */
export async function keepSocket(
  command: readonly string[],
  options: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly cwd?: string;
    readonly uid?: number;
    readonly gid?: number;
  },
): Promise<SocketKeeper> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle;
  const shell = spawn('/bin/sh', ['-c', KEEPER, 'sh', ...command], {
    ...options,
    env: options.env as NodeJS.ProcessEnv,
    stdio: ['pipe', 'pipe', 'inherit', fd],
    detached: true,
  });
  server.close();
  const lines = createInterface({ input: shell.stdout! })[Symbol.asyncIterator]();
  let pid = 0;
  let output = '';
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const { value = 'ended', done } = await lines.next();
      output += `${value}\n`;
      const found = pattern.exec(value);
      if (found !== null) return found;
      assert.ok(done !== true && !value.startsWith('ended '), `It ended before it printed ${pattern}:\n${output}`);
    }
  };
  const begin = async (): Promise<void> => {
    output = '';
    shell.stdin!.write('start\n');
    pid = Number((await until(/^pid (\d+)$/))[1]);
  };
  return {
    port,
    async start() {
      await begin();
      await until(READY);
      return output;
    },
    async startInVain() {
      await begin();
      const [, code] = await until(/^ended (\d+)$/);
      return { output, code: Number(code) };
    },
    async stop() {
      process.kill(pid, 'SIGTERM');
      await until(/^ended 0$/);
    },
    ask: (project) => ask(port, project).catch((error: NodeJS.ErrnoException) => error.code ?? error.message),
    close() {
      if (shell.exitCode === null && shell.signalCode === null) process.kill(-shell.pid!, 'SIGKILL');
    },
  };
}

async function ask(port: number, project: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET / HTTP/1.1\r\nhost: ${project}.localhost\r\nconnection: close\r\n\r\n`);
  return (await text(socket)).split('\r\n').at(-1)!;
}
