// How untrusted code is isolated from the platform and from other code on this machine: by a separate user id (if the
// platform runs as root), by namespaces (bubblewrap, fence/), by both, or not at all. Determined by probing, never
// assumed.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, chmod, chown, constants, mkdtemp, realpath, rm } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { nodeCommand } from '../node-command.ts';
import { confinedCommand, uidOf } from './command-line.ts';
import { ownFence } from './fence/program.ts';
import type { Confinement } from './types.ts';

/** No confinement at all. */
export const unconfined: Confinement = { kind: 'none', reason: null };

/**
 * Unassigned user ids: distributions, systemd and containers assign lower ids, and rootless containers begin at 100000.
 * Each installation uses a separate range, derived from the path of its work folders, because all processes of a user
 * id are killed together.
 */
const UIDS = { first: 1_900_000_000, each: 256, ranges: 50_000 } as const;
/** User ids for machines that are limited to 65,536 of them. */
const LOW_UID = 60_700;

const BUBBLEWRAP = 'bwrap';
/** For tests, `own` ignores an installed bubblewrap, and `bwrap` ignores the platform's own fence. */
const CHOICE = 'PLATFORM_FENCE';

/** Timeout of a probe. */
const PROBE_MS = 10_000;

/** Parameters of the check. */
interface ProbeOptions {
  /** Parent of work folders, which a build must be able to reach. Must exist. */
  readonly workFolders: string;
  /** Folders that no build may read: the data folder, `FS_PATH`. */
  readonly privateFolders: readonly string[];
  /** Folders that builds read, each with a file that must exist in it. */
  readonly readable: readonly string[];
  readonly needs: string;
  /** Whether confined processes get a separate network. */
  readonly isOffline?: boolean;
  /** Whether namespaces with the machine's network are accepted if no network can be created. */
  readonly mayShareNetwork?: boolean;
  /** Methods to try; by default, all of them. For tests, and for expert operators. */
  readonly ways?: readonly ('uid' | 'namespaces' | 'groups')[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Probes the capabilities of this machine and user by starting confined processes.
 *
 * @example const confinement = await confinementOf({
 *   workFolders: '/srv/data/builds',
 *   privateFolders: ['/srv/data'],
 *   readable: ownFolders(),
 *   needs: '/srv/platform/builder/steps/child.ts', }); confinement.kind // 'namespaces'
 */
export async function confinementOf(options: ProbeOptions): Promise<Confinement> {
  const { ways = ['uid', 'namespaces', 'groups'], environment = process.env } = options;
  if (process.platform !== 'linux') return { kind: 'none', reason: 'Builds can only be confined on Linux' };
  const reasons: string[] = [];
  const isRoot = process.getuid?.() === 0;
  const fences = ways.includes('namespaces') ? await fencesHere(environment) : [];
  if (!isRoot && ways.includes('uid'))
    reasons.push('The platform does not run as root, so builds cannot use separate user ids');
  const firstUid = ways.includes('uid') && isRoot ? await usableUid(options.workFolders, environment, reasons) : null;
  const filter = await usableFilter();
  const withoutGroups = !ways.includes('groups');
  const reason = (): string | null => (reasons.length === 0 ? null : reasons.join('. '));
  const problems: string[] = [];
  for (const fence of fences) {
    let spaces: Confinement = { kind: 'namespaces', reason: null, firstUid, fence, withoutGroups, ...filter };
    let problem = await probe(spaces, options);
    if (problem?.includes('disable-userns') === true) {
      spaces = { ...spaces, mayNest: true };
      problem = await probe(spaces, options);
    }
    if (problem === null) return { ...spaces, reason: reason() };
    if (options.mayShareNetwork === true && (await probe({ ...spaces, sharesNetwork: true }, options)) === null) {
      reasons.push(`No separate network can be created: ${problem}`);
      return { ...spaces, sharesNetwork: true, reason: reason() };
    }
    problems.push(problem);
  }
  if (problems.length > 0) reasons.unshift(`Namespaces do not work here: ${problems.join('; ')}`);
  if (ways.includes('namespaces') && !fences.some((fence) => basename(fence) === BUBBLEWRAP))
    reasons.unshift('bubblewrap is not installed (Debian, Ubuntu: apt-get install bubblewrap)');
  if (firstUid !== null) {
    const user: Confinement = { kind: 'user', reason: null, firstUid, withoutGroups, ...filter };
    const problem = await probe(user, options);
    if (problem === null) return { ...user, reason: reason() };
    reasons.push(`Separate user ids (from ${firstUid}) do not work: ${problem}`);
  }
  return { kind: 'none', reason: reason(), withoutGroups };
}

/** Describes the confinement in one line, for the start of the platform and for `platform doctor`. */
export function describeConfinement({ kind, reason, firstUid }: Confinement): string {
  const what = {
    namespaces: `Builds run in namespaces${firstUid == null ? '' : `, under user ids of their own from ${firstUid}`}`,
    user: `Builds run under separate user ids from ${firstUid}, without namespaces`,
    none: "Builds are not confined: only the first admin's organization can build",
  }[kind];
  return reason === null ? what : `${what}. ${reason}`;
}

/** The program that forbids user namespaces; absent if it is not built, or the kernel has no seccomp filters. */
async function usableFilter(): Promise<Pick<Confinement, 'filter'>> {
  const filter = await ownFence();
  if (filter === null) return {};
  const works = await promisify(execFile)(filter, ['--no-userns', '--', 'true'], { timeout: PROBE_MS }).then(
    () => true,
    () => false,
  );
  return works ? { filter } : {};
}

/** Programs that create namespaces, in the order in which they are tried. */
async function fencesHere(environment: Readonly<Record<string, string | undefined>>): Promise<string[]> {
  const found = {
    bwrap: await findProgram(BUBBLEWRAP, environment),
    own: await ownFence(),
  };
  const chosen = environment[CHOICE];
  return Object.entries(found).flatMap(([name, file]) =>
    file === null || (chosen !== undefined && chosen !== name) ? [] : [file],
  );
}

/** The path of a program; null if it is not found. */
export async function findProgram(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const folders = [...(environment['PATH'] ?? '').split(delimiter), '/usr/local/bin', '/usr/bin', '/bin'];
  for (const folder of new Set(folders)) {
    if (!folder.startsWith('/')) continue;
    const file = join(folder, name);
    const works = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (works) return file;
  }
  return null;
}

/** The first user id of a usable range; null with a reason if there is none. */
async function usableUid(
  workFolders: string,
  environment: Readonly<Record<string, string | undefined>>,
  reasons: string[],
): Promise<number | null> {
  for (const name of ['setpriv', 'prlimit', 'nice']) {
    if ((await findProgram(name, environment)) !== null) continue;
    reasons.push(`${name} is not installed (package util-linux or coreutils)`);
    return null;
  }
  const range =
    createHash('sha256')
      .update(await realpath(workFolders))
      .digest()
      .readUInt32BE() % UIDS.ranges;
  for (const uid of [UIDS.first + range * UIDS.each, LOW_UID]) {
    const words = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', 'true'];
    const works = await promisify(execFile)('setpriv', words, { timeout: PROBE_MS }).then(
      () => true,
      () => false,
    );
    if (works) return uid;
  }
  reasons.push('User ids cannot be changed here: the platform runs as root without the right to');
  return null;
}

/** Why a process cannot be confined like this; null if it can. */
async function probe(confinement: Confinement, options: ProbeOptions): Promise<string | null> {
  const { workFolders, privateFolders, readable, needs, isOffline = false } = options;
  const folder = await mkdtemp(join(workFolders, '.probe-'));
  try {
    const uid = uidOf(confinement, 0);
    if (uid === null) await chmod(folder, 0o700);
    else await chown(folder, uid, uid);
    const [node] = nodeCommand();
    // Reads of private folders must fail, and the build's own folder, Node and the bundler must be accessible.
    const script = [
      'cd "$1" || { echo "it cannot enter $1: the folders above it need the mode o+x, or BUILD_WORK_DIR names others"; exit 1; }',
      'echo x > "$1/file" || { echo "it cannot write to $1"; exit 1; }',
      '[ -x "$2" ] || { echo "it cannot run $2: the folders above it need the mode o+x"; exit 1; }',
      '[ -r "$3" ] || { echo "it cannot read $3: the folders above it need the mode o+x"; exit 1; }',
      'shift 3; for closed in "$@"; do if ls "$closed/" >/dev/null 2>&1; then echo "it can read $closed: close it (chmod 700)"; exit 1; fi; done',
      'id -u',
    ].join('\n');
    const words = ['sh', '-c', script, 'sh', folder, node, needs];
    // Namespaces hide all folders that are not listed; a build's folder may itself be inside a private folder.
    const closed = privateFolders.filter((path) => confinement.fence == null || !isAround(path, folder));
    const { file, args } = confinedCommand(
      confinement,
      {
        slot: 0,
        cwd: folder,
        writable: [folder],
        readable: readable.map((path) => [path, path] as const),
        tmp: folder,
        groups: [],
        processesMax: 512,
        fileBytesMax: 1_000_000,
        isOffline,
      },
      [...words, ...closed],
    );
    const { stdout } = await promisify(execFile)(file, args, {
      timeout: PROBE_MS,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      cwd: '/',
    });
    const expected = uid ?? process.getuid?.();
    return stdout.trim() === String(expected) ? null : `it runs as ${stdout.trim()}, not as ${expected}`;
  } catch (error) {
    const { stdout, stderr, message } = error as { stdout?: string; stderr?: string; message: string };
    return ([stdout, stderr, message].find((text) => text !== undefined && text.trim() !== '') ?? '')
      .trim()
      .split('\n')[0]!
      .slice(0, 300);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isAround(folder: string, path: string): boolean {
  for (let at = path; at !== dirname(at); at = dirname(at)) if (at === folder) return true;
  return folder === '/';
}
