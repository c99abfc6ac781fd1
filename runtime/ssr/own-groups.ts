// In a container: makes the control groups below its own writable, so that the kernel keeps the bounds of each server
// (core/process/confinement/control-groups.ts). Takes CAP_SYS_ADMIN; without it nothing changes, and servers are
// watched. Called once by main.ts, before the first server.
import { execFile } from 'node:child_process';
import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const MOUNT = '/sys/fs/cgroup';
/** Of version 1. */
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const;
/** Where the processes of the container go: a group with processes gives those below it no controllers (version 2). */
const INIT = 'init';
const REMOUNT_MS = 5000;

/** How this machine's groups are found and changed; default: as they are here. */
interface GroupAccess {
  readonly mount?: string;
  readonly isWritable?: (folder: string) => Promise<boolean>;
  /** Makes a folder of them writable. */
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
      // The root of what this container sees; a group of the machine's is left as it is.
      if (isUnified) await shareControllers(folder);
    } catch {
      // No right to: what is missing is watched.
    }
  }
}

async function shareControllers(folder: string): Promise<void> {
  const init = path.join(folder, INIT);
  await mkdir(init, { recursive: true });
  const ids = (await readFile(path.join(folder, 'cgroup.procs'), 'utf8')).split('\n').filter(Boolean);
  // One may have ended meanwhile.
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
