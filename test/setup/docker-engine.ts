// A container engine of this test's own, from Debian's packages: dockerd over folders and a socket of its own, a base
// image made by debootstrap, and what Compose is asked to do. For test/compose; needs root. DOCKER_HOST names an engine
// that runs already.
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '#cli/tasks/tools/processes.ts';
import { debianRoot } from './debian-root.ts';
import { rememberNetwork } from './machine-network.ts';
import { eventually } from './whole-platform.ts';

const runProgram = promisify(execFile);
const CA_FILE = '/etc/ssl/certs/ca-certificates.crt';
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** What images are built on here. */
export const BASE_IMAGE = 'platform-test-base:trixie';

/** An engine that answers. */
export interface DockerEngine {
  /** For DOCKER_HOST. */
  readonly host: string;
  /** Where containers reach this machine. */
  readonly machineAddress: string;
  /** Runs `docker`. */
  docker(...words: string[]): Promise<string>;
  /** Runs `docker-compose` in the checkout. @param env goes before `.env`. */
  compose(env: Readonly<Record<string, string>>, ...words: string[]): Promise<string>;
  /** Ends it, unless it ran before. @throws {Error} when a mount, a network or a rule of it is left. */
  close(): Promise<void>;
}

/** Why no engine can be started here; null: one can. */
export async function noDockerReason(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'it needs root';
  for (const program of ['dockerd', 'docker', 'docker-compose', 'debootstrap', 'iptables-save'])
    if ((await runProgram('which', [program]).catch(() => null)) === null)
      return `${program} is not installed (apt-get install docker.io docker-compose debootstrap iptables)`;
  return null;
}

/** Starts one, with its base image. */
export async function startDockerEngine(): Promise<DockerEngine> {
  const given = process.env['DOCKER_HOST'] ?? '';
  // Paths of sockets are short.
  const network = given === '' ? await rememberNetwork() : null;
  const folder = given === '' ? mkdtempSync(path.join(tmpdir(), 'dk-')) : '';
  const host = given === '' ? `unix://${folder}/docker.sock` : given;
  let daemon: ChildProcess | null = null;
  if (given === '') {
    const log = openSync(path.join(folder, 'dockerd.log'), 'w');
    const words = ['--data-root', `${folder}/data`, '--exec-root', `${folder}/exec`, '--pidfile', `${folder}/pid`];
    words.push('--bip', '172.17.0.1/16', '--host', host);
    // In a process group of its own: `close` asks it for things when the group has been told to end. It ends with us.
    daemon = spawn('setpriv', ['--pdeathsig', 'TERM', 'dockerd', ...words], {
      stdio: ['ignore', log, log],
      detached: true,
    });
  }
  // Without BuildKit, which Debian does not have.
  const environment = { ...process.env, DOCKER_HOST: host, DOCKER_BUILDKIT: '0', COMPOSE_DOCKER_CLI_BUILD: '0' };
  const run = async (program: string, words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> => {
    try {
      return (await runProgram(program, [...words], { cwd: root, env, maxBuffer: OUTPUT_BYTES_MAX })).stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`${program} ${words.join(' ').slice(0, 300)}:\n${stdout.slice(-2000)}\n${stderr.slice(-4000)}`, {
        cause: error,
      });
    }
  };
  let closing: Promise<void> | null = null;
  const engine: DockerEngine = {
    host,
    machineAddress: '172.17.0.1',
    docker: (...words) => run('docker', words, environment),
    compose: (env, ...words) => run('docker-compose', words, { ...environment, ...env }),
    close: () => (closing ??= close()),
  };
  async function close(): Promise<void> {
    if (daemon === null) return;
    // Else it waits for each container as long as that may take to stop.
    const running = (await engine.docker('ps', '--quiet').catch(() => '')).split('\n').filter(Boolean);
    if (running.length > 0) await engine.docker('kill', ...running).catch(() => '');
    const ended = new Promise((resolve) => daemon.once('exit', resolve));
    if (daemon.exitCode === null && daemon.kill('SIGTERM')) await ended;
    const mounts = (): string[] =>
      [...readFileSync('/proc/mounts', 'utf8').matchAll(/^\S+ (\S+) /gm)].flatMap(([, at]) =>
        at!.startsWith(`${folder}/`) ? [at!] : [],
      );
    for (const at of mounts().toReversed()) await runProgram('umount', [at]).catch(() => {});
    const left = [...mounts(), ...(await network!.restore())];
    if (left.length > 0) throw new Error(`The Docker engine leaves behind:\n${left.join('\n')}`);
    rmSync(folder, { recursive: true, force: true });
  }
  try {
    await eventually('The Docker engine', async () => {
      assert.equal(daemon?.exitCode ?? null, null, 'dockerd ended');
      await engine.docker('version');
      return true;
    });
  } catch (error) {
    const log = folder === '' ? '' : readFileSync(path.join(folder, 'dockerd.log'), 'utf8').slice(-2000);
    await engine.close();
    throw new Error(`dockerd does not start:\n${log}`, { cause: error });
  }
  const images = await engine.docker('images', '--quiet', BASE_IMAGE);
  if (images.trim() === '') await importBase(environment);
  return engine;
}

async function importBase(environment: NodeJS.ProcessEnv): Promise<void> {
  const folder = await debianRoot();
  const changes = ['--change', `ENV NODE_EXTRA_CA_CERTS=${CA_FILE}`, '--change', 'CMD ["/bin/sh"]'];
  await runProgram(
    'sh',
    [
      '-c',
      `tar -C "$1" -c . | docker import ${changes.map((word) => `'${word}'`).join(' ')} - ${BASE_IMAGE}`,
      'sh',
      folder,
    ],
    {
      env: environment,
    },
  );
}
