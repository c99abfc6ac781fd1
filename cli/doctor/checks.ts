// What `platform doctor` looks at on this machine: the programs it takes, memory, disk, ports, folders. Each check says
// what it found, and what to do where that is not well.
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

/** Node, Git, and what fences builds and servers for Node. */
export async function checkPrograms(shell: Shell): Promise<Finding[]> {
  const [major = 0] = process.versions.node.split('.').map(Number);
  const node =
    major >= 24
      ? ok('node', `Node ${process.versions.node}`)
      : fail(
          'node',
          `Node ${process.versions.node}`,
          'Install Node 24, or the optional dependency that brings it: npm install --include=optional',
        );
  const git = await versionOf(shell, 'git', ['--version']);
  return [
    node,
    git === null
      ? fail('git', 'git is not installed', 'Install it: builds of repositories clone with it (apt-get install git)')
      : ok('git', git),
    await checkFence(shell),
  ];
}

/** By trying it: a program that is there may lack the right to. */
async function checkFence(shell: Shell): Promise<Finding> {
  const { kind, reason, fence } = await serverConfinement(shell.env);
  if (kind === 'namespaces') {
    const bubblewrap = await versionOf(shell, fence!, ['--version']);
    return ok('fence', `Builds and servers run in namespaces, by ${bubblewrap ?? "the platform's own program"}`);
  }
  return warn(
    'fence',
    `Nothing makes namespaces. ${reason ?? ''}`.trim(),
    [
      // In containers they run in another one.
      ...((shell.env['SSR_SOCKETS_DIR'] ?? '') === '' ? ['Servers for Node (kind: ssr) are refused'] : []),
      kind === 'user' ? 'builds run under a user of their own alone' : 'only the first organization can build',
    ].join(', and ') + '. docs/builds.md#what-a-build-can-reach says what they take.',
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

/** Memory of the machine, or of the group of processes where that is less; room on the disk. */
export function checkRoom(shell: Shell): Finding[] {
  const memory = machineMemory();
  const folder = existing(dataFolder(shell));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const room = `${formatBytes(free)} free for ${folder}`;
  const advice = 'Make room, or set FS_PATH to a folder on a larger disk: old deployments are removed by retention.';
  return [
    memory < MEMORY_BYTES_MIN * 0.95
      ? warn('memory', `${formatBytes(memory)} of memory`, 'It takes 2 GB; builds run one at a time below 4 GB.')
      : ok('memory', `${formatBytes(memory)} of memory`),
    free < DISK_BYTES_FAIL
      ? fail('disk', room, advice)
      : free < DISK_BYTES_MIN
        ? warn('disk', room, advice)
        : ok('disk', room),
  ];
}

/** Who may read the data folder and the user's credentials. */
export function checkFolders(shell: Shell): Finding[] {
  const findings: Finding[] = [];
  const folder = dataFolder(shell);
  if (!existsSync(folder)) findings.push(ok('data folder', `${folder} is not there yet: the first start makes it`));
  else {
    const { mode } = statSync(folder);
    const isWritable = mayWrite(folder);
    if (!isWritable)
      findings.push(
        fail('data folder', `${folder} cannot be written`, 'Start the platform as its owner, or change its owner.'),
      );
    else if ((mode & 0o002) !== 0)
      findings.push(fail('data folder', `Everybody may write into ${folder}`, `chmod o-w ${folder}`));
    else findings.push(ok('data folder', `${folder} (mode ${(mode & 0o777).toString(8)})`));
  }
  for (const file of [credentialsFile(shell), path.join(userFolder(shell), 'local')]) {
    if (!existsSync(file)) continue;
    const mode = statSync(file).mode & 0o777;
    findings.push(
      (mode & 0o077) === 0
        ? ok('credentials', `Only you may read ${file}`)
        : fail('credentials', `Others may read ${file} (mode ${mode.toString(8)})`, `chmod go-rwx ${file}`),
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

/** The folder itself, or the nearest above it that is there. */
function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(path.dirname(folder));
}

/** What `PLATFORM_PARTS` names, as in containers; null: a platform here runs all its parts. */
export function partsHere(shell: Shell): readonly string[] | null {
  const text = shell.env['PLATFORM_PARTS']?.trim() ?? '';
  return text === '' ? null : text.split(',').map((part) => part.trim());
}

/** Whether the platform's ports are its own, or can be had. */
export async function checkPorts(shell: Shell, running: LocalPlatform | null): Promise<Finding[]> {
  const of = (name: string, otherwise: string): string => (shell.env[name] ?? '').trim() || otherwise;
  const wanted = [
    ['HANDLER_PORT', of('HANDLER_PORT', '4001')],
    ['API_PORT', of('API_PORT', '4002')],
    ['UI_PORT', of('UI_PORT', '3002')],
    ['DOCS_PORT', of('DOCS_PORT', '3005')],
  ].flatMap(([name, text]) => (text === 'off' ? [] : [[name!, Number(text)] as const]));
  const parts = partsHere(shell);
  if (parts !== null) {
    const port = Number(of('HANDLER_PRIVATE_PORT', '8081'));
    if (await isFree(port))
      return [fail('ports', `Nothing listens on the private port ${port}`, 'Look at the log of this container.')];
    return [ok('ports', `The parts ${parts.join(', ')} run here, behind the private port ${port}`)];
  }
  if (running?.running != null) return [ok('ports', `A platform runs on port ${running.port}`)];
  return Promise.all(
    wanted.map(async ([variable, port]) =>
      (await isFree(port))
        ? ok('ports', `Port ${port} is free`)
        : warn(
            'ports',
            `Port ${port} is taken by another program`,
            `Stop it, or set ${variable} to another one before \`npm start\`.`,
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

/** Whether names below the platform's domain lead anywhere. */
export async function checkDomain(domain: string): Promise<Finding> {
  if (domain === 'localhost' || domain.endsWith('.localhost'))
    return ok('dns', `*.${domain} is this machine, in browsers and curl`);
  const name = `platform-doctor.${domain}`;
  try {
    const { address } = await lookup(name);
    return ok('dns', `*.${domain} leads to ${address}`);
  } catch {
    return fail('dns', `*.${domain} leads nowhere`, `Make a DNS record: *.${domain} A <address of the machine>`);
  }
}
