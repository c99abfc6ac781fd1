// The agent on a hosted machine, where the provider can only start programs. `call` connects its input and output to
// the agent, one connection each. If no agent listens, `call` starts one (`serve`), which runs in the background.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';

const FOLDER = path.join(homedir(), '.platform-sandbox');
const SOCKET = path.join(FOLDER, 'agent.sock');
/** Variables of the machine's environment that commands get. */
const PASSED = ['PATH', 'HOME', 'USER', 'SHELL', 'LANG', 'LC_ALL', 'TERM', 'TZ'];

if (process.argv[2] === 'serve') await serve();
else await call();

async function serve(): Promise<void> {
  // Loaded only when needed, since each call is a new process.
  const [{ createAgentServer }, { WORKSPACE }] = await Promise.all([
    import('../../../agent/server.ts'),
    import('#core/sandbox/operations.ts'),
  ]);
  // Everything in the sandbox depends on this process, so it survives unexpected errors.
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
    // A folder that an unprivileged user can create.
    secretFolders: secrets === undefined ? ['/run/platform', `/dev/shm/platform-${process.getuid!()}`] : [secrets],
    mark: `hosted-${process.pid}`,
  };
  createAgentServer(settings).listen(own, () => {
    // The socket appears only when the agent already answers.
    renameSync(own, SOCKET);
    process.send!('ready');
    process.disconnect();
  });
}

async function call(): Promise<void> {
  const socket = (await reach()) ?? (await start());
  // The caller only ends its input when it gives up; the agent must notice.
  process.stdin.once('end', () => socket.destroy());
  process.stdin.pipe(socket, { end: false });
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>)
      if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
  } catch {
    // The connection was cut, so the response is incomplete.
  }
  // Flushes the output before exiting.
  process.stdout.write('', () => process.exit(0));
}

/** Null means no agent listens. */
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
