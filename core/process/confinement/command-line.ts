// The command line that starts a confined process: control group, then namespaces, then user id, then limits, then
// the command. Pure except for resolving links. Called by confinement.ts, builder/steps/ and runtime/ssr/.
import { realpathSync } from 'node:fs';
import { release } from 'node:os';
import { dirname } from 'node:path';
import { nodeCommand } from '../node-command.ts';
import type { Confinement } from './types.ts';

/** Confinement of one process. */
interface CommandLimits {
  readonly slot: number;
  readonly cwd: string;
  /** Folders that the process may write to; with namespaces, all others are hidden or read-only. */
  readonly writable: readonly string[];
  /** Folders and files, with their read-only paths in namespaces; ignored if there are no namespaces. */
  readonly readable?: readonly (readonly [from: string, to: string])[];
  /** Folder used as /tmp and /dev/shm in namespaces, or the size of an in-memory folder for each. */
  readonly tmp: string | number;
  /** Files that add a process id to a control group. */
  readonly groups: readonly string[];
  readonly processesMax: number;
  /** Size limit for files that the process writes. */
  readonly fileBytesMax: number;
  /** File descriptor on which the fence reports the created namespaces. */
  readonly infoFd?: number;
  /** In namespaces, whether the process gets a network without external access, if a network can be created. */
  readonly isOffline?: boolean;
  /** Host name of the process, in namespaces. */
  readonly hostname?: string;
  /**
   * Whether the process has the same CPU priority as processes that serve requests; otherwise, the priority is lower.
   */
  readonly isServing?: boolean;
}

/** Parts of the system visible in namespaces, if they exist. Only parts of `/etc`, because it contains keys. */
const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/ca-certificates.conf',
  '/etc/crypto-policies',
  '/etc/group',
  '/etc/hosts',
  '/etc/host.conf',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/nsswitch.conf',
  '/etc/pki/ca-trust',
  '/etc/pki/tls/certs',
  '/etc/protocols',
  '/etc/services',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/nix/store',
] as const;

/**
 * These folders are created first, because a folder that the fence creates implicitly may be closed to the build's
 * user.
 */
const SYSTEM_PARENTS = ['/etc', '/etc/pki', '/etc/pki/tls', '/etc/ssl', '/nix'] as const;

/** Path in namespaces of the program that forbids user namespaces. */
const FILTER_INSIDE = '/etc/platform-fence';

/** A lower priority than that of processes that serve requests on the same processors. */
const NICE = '5';

/** The user id of a slot; null if builds run as the platform's own user. */
export function uidOf({ firstUid }: Confinement, slot: number): number | null {
  return firstUid == null ? null : firstUid + slot;
}

/** The program and arguments that run a command confined. */
export function confinedCommand(
  confinement: Confinement,
  limits: CommandLimits,
  command: readonly string[],
): { readonly file: string; readonly args: readonly string[] } {
  const uid = uidOf(confinement, limits.slot);
  const words = [
    ...(limits.groups.length === 0 ? [] : groupWords(limits.groups)),
    ...(confinement.fence == null ? [] : namespaceWords(confinement.fence, confinement, uid, limits)),
    ...(uid === null ? [] : userWords(uid)),
    ...(process.platform === 'linux' ? limitWords(countsAlone(confinement), limits) : []),
    ...(confinement.filter === undefined ? [] : filterWords(confinement, confinement.filter)),
    // The shell changes to the working directory at this point, because only the build's user may enter it.
    'sh',
    '-c',
    'cd "$1" && shift && exec "$@"',
    'sh',
    limits.cwd,
    ...command,
  ];
  return { file: words[0]!, args: words.slice(1) };
}

/** Arguments that enter the control groups before anything else, so that all descendants of the process are in them. */
function groupWords(groups: readonly string[]): string[] {
  const script = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"';
  return ['sh', '-c', script, 'sh', String(groups.length), ...groups];
}

function userWords(uid: number): string[] {
  const id = String(uid);
  return ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs', '--inh-caps=-all', '--'];
}

/**
 * Whether the kernel counts a build's processes separately from the platform's: by its user, or in its user
 * namespace, since Linux 5.14.
 */
function countsAlone({ firstUid, fence }: Confinement): boolean {
  if (firstUid != null) return true;
  const [major = 0, minor = 0] = release().split('.').map(Number);
  return fence !== undefined && (major > 5 || (major === 5 && minor >= 14));
}

function limitWords(isCounted: boolean, { processesMax, fileBytesMax, isServing }: CommandLimits): string[] {
  const processes = isCounted ? [`--nproc=${processesMax}:${processesMax}`] : [];
  const nice = isServing === true ? [] : ['nice', '-n', NICE];
  return [...nice, 'prlimit', '--core=0:0', `--fsize=${fileBytesMax}:${fileBytesMax}`, ...processes, '--'];
}

/** The platform's last program before the command. */
function filterWords({ fence }: Confinement, filter: string): string[] {
  return [fence == null ? filter : FILTER_INSIDE, '--no-userns', '--'];
}

function namespaceWords(
  fence: string,
  { mayNest = false, filter, sharesNetwork = false }: Confinement,
  uid: number | null,
  limits: CommandLimits,
): string[] {
  const words = [fence, '--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts'];
  words.push('--hostname', limits.hostname ?? 'build', '--unshare-cgroup-try', '--new-session');
  if (limits.isOffline === true && !sharesNetwork) words.push('--unshare-net');
  if (limits.infoFd !== undefined) words.push('--info-fd', String(limits.infoFd));
  // As root, setpriv changes the user inside, and the fence drops every other capability.
  words.push('--cap-drop', 'ALL');
  if (uid === null) words.push('--unshare-user', ...(mayNest ? [] : ['--disable-userns']));
  else words.push('--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID', '--cap-add', 'CAP_SETPCAP');
  for (const path of SYSTEM_PARENTS) words.push('--perms', '0755', '--dir', path);
  for (const path of SYSTEM) words.push('--ro-bind-try', path, path);
  if (filter !== undefined) words.push('--ro-bind', filter, FILTER_INSIDE);
  // Kernel settings: without a separate user id, a program could change them if the platform runs as root.
  words.push('--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev');
  // These are folders of the build, so that files written there are counted.
  for (const path of ['/tmp', '/dev/shm'])
    words.push(
      ...(typeof limits.tmp === 'string'
        ? ['--bind', limits.tmp, path]
        : ['--perms', '1777', '--size', String(limits.tmp), '--tmpfs', path]),
    );
  // This file may be a link into a writable or hidden folder, so its target is mounted at its path.
  words.push('--ro-bind-try', realPath('/etc/resolv.conf'), '/etc/resolv.conf');
  const readable = limits.readable ?? [];
  // Missing parent folders would be created without permission for the build's user to enter.
  const around = [...readable.map(([, to]) => to), ...limits.writable].flatMap(foldersAround);
  for (const path of new Set(around)) words.push('--perms', '0755', '--dir', path);
  for (const [from, to] of readable) words.push('--ro-bind', from, to);
  for (const path of limits.writable) words.push('--bind', path, path);
  // Both folders are in memory that is not counted, and belong to the platform's user if builds run as it.
  words.push('--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/', '--');
  return words;
}

/** The parent folders of a path, outermost first, without those of the system. */
function foldersAround(path: string): string[] {
  const above = dirname(path);
  if (above === '/' || SYSTEM.some((shown) => above === shown || above.startsWith(`${shown}/`))) return [];
  return [...foldersAround(above), above];
}

/** The folders of the Node installation that namespaces do not show anyway. */
export function nodeFolders(): string[] {
  const [node, ...loader] = nodeCommand();
  const folders = [node, ...loader.filter((word) => word.startsWith('/'))].map((file) => dirname(realPath(file)));
  return [...new Set(folders)].filter((path) => !path.startsWith('/usr/'));
}

/** Resolves links; returns the path itself if it does not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
