// Sandboxes for `platform dev` without a container engine: local processes, with a folder each. Local sandboxes are NOT
// isolated: commands run as the developer, with access to the developer's files and network.
import { spawn, type ChildProcess } from 'node:child_process';
import { constants, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { cp, lstat, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import { killTree, marked } from '../../agent/process-tree.ts';
import type { AgentSettings } from '../../agent/settings.ts';
import type { MachineSpec, SandboxBackend } from '../backend.ts';

const MAIN = path.join(import.meta.dirname, `main${path.extname(import.meta.filename)}`);

/** Variables of the developer's environment that commands get. */
const PASSED = ['PATH', 'LANG', 'LC_ALL', 'TERM', 'TZ', 'TMPDIR', 'SHELL'];

const NO_ENGINE = 'Start Docker or podman for isolated sandboxes';

/** How long an agent may take to exit. */
const END_MS = 3000;

interface Machine {
  readonly agent: ChildProcess;
  readonly socket: string;
  state: 'running' | 'suspended';
}

/** Options of the backend. */
interface LocalDeps {
  /** Parent of the sandbox folders. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** URL of the AI gateway on this machine, for commands. */
  readonly aiUrl?: string | null;
  /** Why containers are not used, for the developer. */
  readonly why?: string;
  /** Prints warnings for the developer. */
  readonly warn: (message: string) => void;
}

export function createLocalBackend(deps: LocalDeps): SandboxBackend {
  const { folder, environment, aiUrl = null, why = NO_ENGINE, warn } = deps;
  const machines = new Map<string, Machine>();
  let sockets: string | null = null;
  /** Warnings already printed. */
  const warned = new Set<string>();

  const folderOf = (key: string): string => path.join(folder, key);
  const workspaceOf = (key: string): string => path.join(folderOf(key), 'workspace');
  // The key alone is not unique: another installation on this machine may use the same key.
  const markOf = (key: string): string => `${Buffer.from(folder).toString('base64url')}-${key}`;

  function warnOnce(what: string, message: string): void {
    if (!warned.has(what)) warn(message);
    warned.add(what);
  }

  async function start({ key, options: { machine, image, egress } }: MachineSpec): Promise<void> {
    warnOnce(
      'all',
      'sandboxes are processes of this machine here and do NOT isolate: commands in them can read, change and send ' +
        `whatever you can. ${why}`,
    );
    const ignored = { machine, image, egress: egress?.mode === 'all' ? null : egress };
    for (const [name, value] of Object.entries(ignored))
      if (value !== null)
        warnOnce(name, `the option ${name} of sandboxes does nothing here: they are processes of this machine`);
    mkdirSync(workspaceOf(key), { recursive: true, mode: 0o700 });
    // The project's path may exceed the maximum length of a socket path.
    sockets ??= mkdtempSync(path.join(tmpdir(), 'platform-sandboxes-'));
    const socket = path.join(sockets, key);
    rmSync(socket, { force: true });
    const passed = PASSED.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]));
    const settings: AgentSettings = {
      workspace: workspaceOf(key),
      confined: true,
      secretFolders: [path.join(folderOf(key), 'secrets')],
      variables: { ...Object.fromEntries(passed), HOME: workspaceOf(key) } as Record<string, string>,
      mark: markOf(key),
    };
    const [program, ...flags] = nodeCommand();
    const agent = spawn(program!, [...flags, MAIN, socket, JSON.stringify(settings)], {
      cwd: workspaceOf(key),
      // The agent's own environment; commands get theirs from the settings.
      env: Object.fromEntries(
        ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) =>
          environment[name] === undefined ? [] : [[name, environment[name]]],
        ),
      ),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    agent.stdin!.on('error', () => {});
    const reason = await new Promise<string | null>((resolve) => {
      agent.stdout!.once('data', () => resolve(null));
      agent.once('error', (error) => resolve(error.message)).once('exit', (code) => resolve(`it ended with ${code}`));
    });
    if (reason !== null)
      throw new PlatformError('sandbox_unavailable', { reason: `its process did not start: ${reason}` });
    agent.once('exit', () => {
      if (machines.get(key)?.agent === agent) machines.delete(key);
    });
    machines.set(key, { agent, socket, state: 'running' });
  }

  /** Ends the processes of a machine; its files stay. */
  async function end(key: string): Promise<void> {
    const machine = machines.get(key);
    machines.delete(key);
    if (machine !== undefined && machine.agent.exitCode === null && machine.agent.signalCode === null) {
      const exited = new Promise((resolve) => void machine.agent.once('exit', resolve));
      // The agent ends its commands, then itself.
      machine.agent.stdin!.end();
      machine.agent.kill('SIGCONT');
      const late = setTimeout(() => machine.agent.kill('SIGKILL'), END_MS);
      await exited;
      clearTimeout(late);
    }
    killTree(null, markOf(key), 'SIGKILL');
  }

  function signalAll(key: string, { agent }: Machine, signal: NodeJS.Signals): void {
    agent.kill(signal);
    for (const pid of marked(markOf(key))) {
      try {
        process.kill(pid, signal);
      } catch {
        // Exited meanwhile.
      }
    }
  }

  const keys = (): string[] => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  };

  return {
    provider: 'local',
    // Options are accepted without effect: they are meant for the deployment.
    check: () => {},
    aiUrl,
    checkCopy: () => {},
    async copy(from, to) {
      if (!keys().includes(from)) throw new PlatformError('sandbox_lost', { reason: 'its files are gone' });
      let bytes = 0;
      await cp(workspaceOf(from), workspaceOf(to), {
        recursive: true,
        verbatimSymlinks: true,
        preserveTimestamps: true,
        mode: constants.COPYFILE_FICLONE,
        // Sockets and pipes belong to processes and are not copied.
        async filter(file) {
          const entry = await lstat(file);
          if (entry.isFile()) bytes += entry.size;
          return entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
        },
      });
      return bytes;
    },
    async create(spec) {
      await end(spec.key);
      await rm(folderOf(spec.key), { recursive: true, force: true });
      await start(spec);
    },
    async resume(spec) {
      const machine = machines.get(spec.key);
      if (machine === undefined) return start(spec);
      if (machine.state === 'suspended') signalAll(spec.key, machine, 'SIGCONT');
      machine.state = 'running';
    },
    async suspend(key) {
      const machine = machines.get(key);
      if (machine === undefined) return;
      signalAll(key, machine, 'SIGSTOP');
      machine.state = 'suspended';
    },
    stop: end,
    async destroy(key) {
      await end(key);
      await rm(folderOf(key), { recursive: true, force: true });
    },
    state: async (key) => machines.get(key)?.state ?? (keys().includes(key) ? 'stopped' : 'absent'),
    keys: async () => keys(),
    connect(key) {
      const machine = machines.get(key);
      if (machine === undefined || machine.state !== 'running')
        return Promise.reject(new PlatformError('sandbox_lost', { reason: 'its process does not run' }));
      return new Promise<Socket>((resolve, reject) => {
        const socket = connect(machine.socket);
        socket.once('connect', () => resolve(socket));
        socket.once('error', (error) => reject(new PlatformError('sandbox_lost', { reason: error.message })));
      });
    },
    async close() {
      await Promise.all([...machines.keys()].map(end));
      if (sockets !== null) rmSync(sockets, { recursive: true, force: true });
    },
  };
}
