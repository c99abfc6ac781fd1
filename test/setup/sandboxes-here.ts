// Sandboxes whose agents run in the test's process: a stand-in of those that are processes of this machine, at a
// hundredth of their cost. Their files and commands are as real. test/control/sandboxes-here.test.ts holds it to the
// contract.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PlatformError } from '#core/errors.ts';
import { createAgentServer } from '#sandbox/agent/server.ts';
import { killTree, marked } from '#sandbox/agent/process-tree.ts';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';
import { createLocalBackend } from '#sandbox/backends/local/local.ts';

/** Of the environment of the test, what commands get. */
const PASSED = ['PATH', 'LANG', 'LC_ALL', 'TERM', 'TZ', 'TMPDIR', 'SHELL'];

interface Machine {
  readonly agent: Server;
  readonly socket: string;
  isSuspended: boolean;
}

/** @param folder where their folders lie. */
export function createSandboxesHere(
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
): SandboxBackend {
  const machines = new Map<string, Machine>();
  const sockets = mkdtempSync(path.join(tmpdir(), 'sandboxes-here-'));
  // Folders, their copies and their names are its business.
  const local = createLocalBackend({ folder, environment, warn: () => {} });
  const markOf = (key: string): string => `${path.basename(sockets)}-${key}`;
  const folderOf = (key: string): string => path.join(folder, key);

  async function start(key: string): Promise<void> {
    const workspace = path.join(folderOf(key), 'workspace');
    mkdirSync(workspace, { recursive: true, mode: 0o700 });
    const socket = path.join(sockets, key);
    const passed = PASSED.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]));
    const agent = createAgentServer({
      workspace,
      confined: true,
      secretFolders: [path.join(folderOf(key), 'secrets')],
      variables: { ...Object.fromEntries(passed), HOME: workspace } as Record<string, string>,
      mark: markOf(key),
    });
    await new Promise<void>((resolve) => void agent.listen(socket, resolve));
    machines.set(key, { agent, socket, isSuspended: false });
  }

  async function end(key: string): Promise<void> {
    const machine = machines.get(key);
    machines.delete(key);
    killTree(null, markOf(key), 'SIGKILL');
    machine?.agent.closeAllConnections();
    await new Promise((resolve) => (machine === undefined ? resolve(null) : machine.agent.close(resolve)));
  }

  function signalAll(key: string, signal: NodeJS.Signals): void {
    for (const pid of marked(markOf(key))) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  return {
    ...local,
    async create({ key }) {
      await end(key);
      await rm(folderOf(key), { recursive: true, force: true });
      await start(key);
    },
    async resume({ key }) {
      const machine = machines.get(key);
      if (machine === undefined) return start(key);
      signalAll(key, 'SIGCONT');
      machine.isSuspended = false;
    },
    async suspend(key) {
      const machine = machines.get(key);
      if (machine === undefined) return;
      signalAll(key, 'SIGSTOP');
      machine.isSuspended = true;
    },
    stop: end,
    async destroy(key) {
      await end(key);
      await rm(folderOf(key), { recursive: true, force: true });
    },
    async state(key) {
      const machine = machines.get(key);
      if (machine !== undefined) return machine.isSuspended ? 'suspended' : 'running';
      return (await local.keys()).includes(key) ? 'stopped' : 'absent';
    },
    connect(key) {
      const machine = machines.get(key);
      if (machine === undefined || machine.isSuspended)
        return Promise.reject(new PlatformError('sandbox_lost', { reason: 'its agent does not run' }));
      return new Promise<Socket>((resolve, reject) => {
        const socket = connect(machine.socket);
        socket.once('connect', () => resolve(socket));
        socket.once('error', (error) => reject(new PlatformError('sandbox_lost', { reason: error.message })));
      });
    },
    async close() {
      await Promise.all([...machines.keys()].map(end));
      rmSync(sockets, { recursive: true, force: true });
    },
  };
}
