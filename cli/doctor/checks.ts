// Checks of `platform doctor` on this machine: programs, memory, disk, ports, folders. Each check returns findings with
// advice.
import { execFile } from 'node:child_process';
import { existsSync, statfsSync, statSync, accessSync, constants } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import { machineMemory } from '#core/process/machine-memory.ts';
import { promisify } from 'node:util';
import path from 'node:path';
import { credentialsFile } from '../account/credentials.ts';
import { dataFolder, userFolder } from '../local/locations.ts';
import type { LocalPlatform } from '../local/local-platform.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatBytes } from '../terminal/table.ts';
import { serverConfinement } from '#core/process/confinement/servers-here.ts';
import { fail, ok, warn, type Finding } from '#operations/doctor/finding.ts';

const GB = 1024 ** 3;
const MEMORY_BYTES_MIN = 2 * GB;
const DISK_BYTES_MIN = 10 * GB;
const DISK_BYTES_FAIL = GB;
const PROGRAM_MS_MAX = 5000;

/** Checks Node, Git, and the isolation of builds and servers for Node. */
export async function checkPrograms(shell: Shell): Promise<Finding[]> {
  const [major = 0] = process.versions.node.split('.').map(Number);
  const node =
    major >= 24
      ? ok('node', `Node ${process.versions.node}`)
      : fail(
          'node',
          `Node ${process.versions.node}`,
          'Install Node 24, or the optional dependency that contains it: npm install --include=optional',
        );
  const git = await versionOf(shell, 'git', ['--version']);
  return [
    node,
    git === null
      ? fail('git', 'git is not installed', 'Install Git, to build from repositories (apt-get install git)')
      : ok('git', git),
    await checkFence(shell),
  ];
}

/** Tries to create namespaces: an installed program may lack the permission. */
async function checkFence(shell: Shell): Promise<Finding> {
  const { kind, reason, fence } = await serverConfinement(shell.env);
  if (kind === 'namespaces') {
    const bubblewrap = await versionOf(shell, fence!, ['--version']);
    return ok(
      'fence',
      `Builds and servers run in namespaces, created by ${bubblewrap ?? "the platform's own program"}`,
    );
  }
  return warn(
    'fence',
    `Cannot create namespaces. ${reason ?? ''}`.trim(),
    [
      // With SSR_SOCKETS_DIR, servers for Node run in another container.
      ...((shell.env['SSR_SOCKETS_DIR'] ?? '') === '' ? ['Servers for Node (kind: ssr) are refused'] : []),
      kind === 'user' ? 'builds are isolated only by a separate user' : 'only the first organization can build',
    ].join(', and ') + '. See docs/builds.md#what-a-build-can-reach for the requirements.',
  );
}

export async function versionOf(shell: Shell, program: string, words: readonly string[]): Promise<string | null> {
  try {
    const options = { timeout: PROGRAM_MS_MAX, env: { PATH: shell.env['PATH'] ?? '' } };
    const { stdout } = await promisify(execFile)(program, [...words], options);
    return stdout.split('\n')[0]!.slice(0, 100);
  } catch {
    return null;
  }
}

/** Checks memory (of the machine or the cgroup, whichever is less) and free disk space. */
export function checkRoom(shell: Shell): Finding[] {
  const memory = machineMemory();
  const folder = existing(dataFolder(shell));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const room = `${formatBytes(free)} free for ${folder}`;
  const advice =
    'Free disk space, or set FS_PATH to a folder on a larger disk. Retention settings remove old deployments.';
  return [
    memory < MEMORY_BYTES_MIN * 0.95
      ? warn('memory', `${formatBytes(memory)} of memory`, '2 GB are required; below 4 GB, builds run one at a time.')
      : ok('memory', `${formatBytes(memory)} of memory`),
    free < DISK_BYTES_FAIL
      ? fail('disk', room, advice)
      : free < DISK_BYTES_MIN
        ? warn('disk', room, advice)
        : ok('disk', room),
  ];
}

/** Checks the permissions of the data folder and the user's credentials. */
export function checkFolders(shell: Shell): Finding[] {
  const findings: Finding[] = [];
  const folder = dataFolder(shell);
  if (!existsSync(folder)) findings.push(ok('data folder', `${folder} does not exist yet: the first start creates it`));
  else {
    const { mode } = statSync(folder);
    const isWritable = mayWrite(folder);
    if (!isWritable)
      findings.push(
        fail(
          'data folder',
          `${folder} is not writable`,
          'Start the platform as the owner of the folder, or change the owner.',
        ),
      );
    else if ((mode & 0o002) !== 0)
      findings.push(fail('data folder', `${folder} is writable by everyone`, `chmod o-w ${folder}`));
    else findings.push(ok('data folder', `${folder} (mode ${(mode & 0o777).toString(8)})`));
  }
  for (const file of [credentialsFile(shell), path.join(userFolder(shell), 'local')]) {
    if (!existsSync(file)) continue;
    const mode = statSync(file).mode & 0o777;
    findings.push(
      (mode & 0o077) === 0
        ? ok('credentials', `Only you can read ${file}`)
        : fail('credentials', `Others can read ${file} (mode ${mode.toString(8)})`, `chmod go-rwx ${file}`),
    );
  }
  return findings;
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The folder, or its nearest existing parent. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

/** The parts in `PLATFORM_PARTS`, used in containers; null means all parts, `operator` a container for commands. */
export function partsHere(shell: Shell): readonly string[] | null {
  const text = shell.env['PLATFORM_PARTS']?.trim() ?? '';
  return text === '' ? null : text.split(',').map((part) => part.trim());
}

/** Checks that the platform's ports are free, or used by the platform itself. */
export async function checkPorts(shell: Shell, running: LocalPlatform | null): Promise<Finding[]> {
  const of = (name: string, otherwise: string): string => (shell.env[name] ?? '').trim() || otherwise;
  const wanted = [
    ['HANDLER_PORT', of('HANDLER_PORT', '4001')],
    ['API_PORT', of('API_PORT', '4002')],
    ['UI_PORT', of('UI_PORT', '3002')],
    ['DOCS_PORT', of('DOCS_PORT', '3005')],
  ].flatMap(([name, text]) => (text === 'off' ? [] : [[name!, Number(text)] as const]));
  const parts = partsHere(shell);
  if (parts?.includes('operator') === true) return [ok('ports', 'No part of the platform runs in this container')];
  if (parts !== null) {
    const port = Number(of('HANDLER_PRIVATE_PORT', '8081'));
    if (await isFree(port))
      return [fail('ports', `Nothing listens on the private port ${port}`, 'See the log of this container.')];
    return [ok('ports', `The parts ${parts.join(', ')} run here, behind the private port ${port}`)];
  }
  if (running?.running != null) return [ok('ports', `A platform runs on port ${running.port}`)];
  return Promise.all(
    wanted.map(async ([variable, port]) =>
      (await isFree(port))
        ? ok('ports', `Port ${port} is free`)
        : warn(
            'ports',
            `Port ${port} is already in use`,
            `Stop the other program, or set ${variable} to another port before \`npm start\`.`,
          ),
    ),
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Checks that subdomains of the platform's domain resolve. */
export async function checkDomain(domain: string): Promise<Finding> {
  if (domain === 'localhost' || domain.endsWith('.localhost'))
    return ok('dns', `*.${domain} is this machine, in browsers and curl`);
  const name = `platform-doctor.${domain}`;
  try {
    const { address } = await lookup(name);
    return ok('dns', `*.${domain} resolves to ${address}`);
  } catch {
    return fail('dns', `*.${domain} does not resolve`, `Create a DNS record: *.${domain} A <address of the machine>`);
  }
}
