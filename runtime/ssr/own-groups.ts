// In a container, makes the control groups below its own group writable, so that the kernel enforces the limits of each
// server (core/process/confinement/control-groups.ts). Requires CAP_SYS_ADMIN; without it, nothing is changed, and
// servers are monitored. Called once by main.ts, before the first server.
import { execFile } from 'node:child_process';
import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const MOUNT = '/sys/fs/cgroup';
/** Controllers of version 1. */
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
/**
 * A separate group for the container's processes, because a group with processes cannot give controllers to its child
 * groups (version 2).
 */
const INIT = 'init';
const REMOUNT_MS = 5000;

/** Access to control groups; by default those of this machine. */
interface GroupAccess {
  readonly mount?: string;
  readonly isWritable?: (folder: string) => Promise<boolean>;
  /** Makes a folder of the control groups writable. */
  readonly remount?: (folder: string) => Promise<void>;
}

export async function openOwnGroups(given: GroupAccess = {}): Promise<void> {
  const { mount = MOUNT, isWritable = isFolderWritable, remount = remountWritable } = given;
  const isUnified = await isThere(path.join(mount, 'cgroup.controllers'));
  const folders = isUnified ? [mount] : CONTROLLERS.map((name) => path.join(mount, name));
  for (const folder of folders) {
    if (!(await isThere(folder)) || (await isWritable(folder))) continue;
    try {
      await remount(folder);
      // This must be the root as the container sees it, so that no group of the machine is changed.
      if (isUnified) await shareControllers(folder);
    } catch {
      // This is not permitted, so servers are monitored instead.
    }
  }
}

async function shareControllers(folder: string): Promise<void> {
  const init = path.join(folder, INIT);
  await mkdir(init, { recursive: true });
  const ids = (await readFile(path.join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean);
  // The process may have ended in the meantime.
  for (const id of ids) await writeFile(path.join(init, 'cgroup.procs'), id).catch(() => {});
  const offered = (await readFile(path.join(folder, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const wanted = CONTROLLERS.filter((name) => offered.includes(name)).map((name) => `+${name}`);
  await writeFile(path.join(folder, 'cgroup.subtree_control'), wanted.join(' '));
}

async function remountWritable(folder: string): Promise<void> {
  await promisify(execFile)('mount', ['-o', 'remount,rw,bind', folder], { timeout: REMOUNT_MS });
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function isFolderWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}
