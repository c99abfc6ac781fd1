// A container engine of this test's own for sandboxes, Docker's or podman's, over folders and a socket of its own, with
// an image of Debian that has git and curl. Sandboxes have no network, so it makes no bridge and no rule. Needs root.
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { debianRoot } from './debian-root.ts';
import { eventually } from './whole-platform.ts';

const runProgram = promisify(execFile);

export type SandboxEngineKind = 'docker' | 'podman';
export const SANDBOX_IMAGE = 'platform-test-sandbox:trixie';

/** An engine that answers. */
export interface SandboxEngine {
  readonly socketPath: string;
  /** As an operator does. Containers are the engine's affair. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends it, with every container. @throws {Error} when a mount of it is left. */
  close(): Promise<void>;
}

/** Why no engine can be started here; null: one can. */
export async function noSandboxEngineReason(kind: SandboxEngineKind): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'it needs root';
  const programs = {
    docker: ['dockerd', 'docker-init', 'debootstrap', 'losetup', 'mkfs.ext4'],
    podman: ['podman', 'runc', 'tini', 'debootstrap', 'losetup', 'mkfs.ext4'],
  };
  for (const program of programs[kind])
    if ((await runProgram('which', [program]).catch(() => null)) === null)
      return `${program} is not installed (apt-get install docker.io podman runc tini debootstrap e2fsprogs)`;
  if (!existsSync('/dev/loop-control')) return 'this machine has no loop devices';
  return null;
}

/** Starts one, with its image. */
export async function startSandboxEngine(kind: SandboxEngineKind): Promise<SandboxEngine> {
  // Paths of sockets are short.
  const folder = mkdtempSync(path.join(tmpdir(), 'sx-'));
  const socketPath = path.join(folder, 'engine.sock');
  const log = openSync(path.join(folder, 'engine.log'), 'w');
  const [words, environment] = kind === 'docker' ? docker(folder) : podman(folder);
  // It ends with us.
  const launch = (): ChildProcess =>
    spawn('setpriv', ['--pdeathsig', 'TERM', ...words], {
      stdio: ['ignore', log, log],
      detached: true,
      env: environment,
    });
  let daemon = launch();
  const client = (...more: string[]): string[] =>
    kind === 'docker'
      ? ['docker', '--host', `unix://${socketPath}`, ...more]
      : [...words.slice(0, PODMAN_WORDS), ...more];
  const run = async (...more: string[]): Promise<string> => {
    const [program, ...rest] = client(...more);
    return (await runProgram(program!, rest, { env: environment })).stdout;
  };

  async function stop(): Promise<void> {
    const ended = new Promise((resolve) => daemon.once('exit', resolve));
    if (daemon.exitCode === null && daemon.signalCode === null && daemon.kill('SIGTERM')) await ended;
  }

  const answers = (): Promise<unknown> =>
    eventually(`The engine ${kind}`, async () => {
      assert.equal(daemon.exitCode, null, 'it ended');
      await run('version');
      return existsSync(socketPath);
    });

  async function start(): Promise<void> {
    rmSync(socketPath, { force: true });
    daemon = launch();
    await answers();
  }

  async function close(): Promise<void> {
    const left = (await run('ps', '--all', '--quiet').catch(() => '')).split('\n').filter(Boolean);
    for (const container of left) {
      await run('unpause', container).catch(() => '');
      await run('rm', '--force', '--volumes', container).catch(() => '');
    }
    await stop();
    for (const at of mountsIn(folder).toReversed()) await runProgram('umount', [at]).catch(() => {});
    assert.deepEqual(mountsIn(folder), [], 'the engine leaves mounts behind');
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    await answers();
    await importImage(client('import', '-', SANDBOX_IMAGE), environment);
  } catch (error) {
    const said = readFileSync(path.join(folder, 'engine.log'), 'utf8').slice(-2000);
    await close();
    throw new Error(`${kind} does not start:\n${said}`, { cause: error });
  }
  return { socketPath, stop, start, close };
}

function docker(folder: string): [string[], NodeJS.ProcessEnv] {
  const folders = ['--data-root', `${folder}/data`, '--exec-root', `${folder}/exec`, '--pidfile', `${folder}/pid`];
  const network = ['--bridge=none', '--iptables=false', '--ip-forward=false', '--ip-masq=false'];
  return [['dockerd', ...folders, ...network, '--host', `unix://${folder}/engine.sock`], process.env];
}

/** Of its command, the words that come before what it is to do. */
const PODMAN_WORDS = 9;

function podman(folder: string): [string[], NodeJS.ProcessEnv] {
  const configuration = path.join(folder, 'containers.conf');
  // Limits that it may set without CAP_SYS_RESOURCE, a runtime for control groups of the first version, Debian's init.
  writeFileSync(
    configuration,
    `[containers]\ndefault_ulimits=["nofile=20000:20000","nproc=4096:4096"]\n[engine]\nruntime="runc"\ninit_path="/usr/bin/tini"\n[network]\nnetwork_backend="cni"\n`,
  );
  const folders = ['--root', `${folder}/data`, '--runroot', `${folder}/run`, '--tmpdir', `${folder}/tmp`];
  const words = ['podman', ...folders, '--cgroup-manager', 'cgroupfs'];
  const environment = { ...process.env, CONTAINERS_CONF: configuration };
  return [[...words, 'system', 'service', '--time', '0', `unix://${folder}/engine.sock`], environment];
}

async function importImage(client: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const folder = await debianRoot(['curl', 'git']);
  await runProgram('sh', ['-c', 'tar -C "$1" -c . | { shift; "$@"; }', 'sh', folder, ...client], { env: environment });
}

function mountsIn(folder: string): string[] {
  return [...readFileSync('/proc/mounts', 'utf8').matchAll(/^\S+ (\S+) /gm)].flatMap(([, at]) =>
    at!.startsWith(`${folder}/`) ? [at!] : [],
  );
}
