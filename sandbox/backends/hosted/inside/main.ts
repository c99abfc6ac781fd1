// The agent on a machine of a provider, which starts programs there and nothing else. `call` passes its input to the
// agent and the agent's answer to its output, one connection each; where none listens it starts one, `serve`, which
// goes on by itself.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';

const FOLDER = path.join(homedir(), '.platform-sandbox');
const SOCKET = path.join(FOLDER, 'agent.sock');
/** What commands get of the machine's environment. */
const PASSED = ['PATH', 'HOME', 'USER', 'SHELL', 'LANG', 'LC_ALL', 'TERM', 'TZ'];

if (process.argv[2] === 'serve') await serve();
else await call();

async function serve(): Promise<void> {
  // Not for every call: they are programs of their own.
  const [{ createAgentServer }, { WORKSPACE }] = await Promise.all([
    import('../../../agent/server.ts'),
    import('#core/sandbox/operations.ts'),
  ]);
  // Everything in the sandbox depends on this process: it outlives what it did not foresee.
  process.on('uncaughtException', () => {});
  process.on('SIGHUP', () => {});
  const workspace = process.env['SANDBOX_WORKSPACE'] ?? WORKSPACE;
  mkdirSync(workspace, { recursive: true });
  const variables = Object.fromEntries(
    PASSED.flatMap((name) => (name in process.env ? [[name, process.env[name]!]] : [])),
  );
  const own = `${SOCKET}.${process.pid}`;
  rmSync(own, { force: true });
  const secrets = process.env['SANDBOX_SECRETS'];
  const settings = {
    workspace,
    confined: false,
    variables,
    // Where a user of no privileges may make one.
    secretFolders: secrets === undefined ? ['/run/platform', `/dev/shm/platform-${process.getuid!()}`] : [secrets],
    mark: `hosted-${process.pid}`,
  };
  createAgentServer(settings).listen(own, () => {
    // Whoever connects finds none or one that answers.
    renameSync(own, SOCKET);
    process.send!('ready');
    process.disconnect();
  });
}

async function call(): Promise<void> {
  const socket = (await reach()) ?? (await start());
  // Whoever asks ends its input only where it has given up: the agent has to see that.
  process.stdin.once('end', () => socket.destroy());
  process.stdin.pipe(socket, { end: false });
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>)
      if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
  } catch {
    // The connection was cut, and so is the answer.
  }
  // What was written is taken before it ends.
  process.stdout.write('', () => process.exit(0));
}

/** Null: nobody listens. */
function reach(): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(SOCKET);
    socket.once('connect', () => resolve(socket)).once('error', () => resolve(null));
  });
}

async function start(): Promise<Socket> {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  const agent = spawn(process.execPath, [...process.execArgv, import.meta.filename, 'serve'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  await new Promise((resolve, reject) => {
    agent.once('message', resolve).once('error', reject);
    agent.once('exit', (code) => reject(new Error(`the agent ended with ${code}`)));
  });
  agent.unref();
  const socket = await reach();
  if (socket === null) throw new Error('the agent does not listen');
  return socket;
}
