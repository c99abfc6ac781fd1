// Disks of sandboxes: each is a file with a file system of a fixed size, mounted by the engine through a loop device.
// The device belongs to the mount: the kernel frees it when the container ends for any reason. Requires root.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, existsSync, rmSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const runProgram = promisify(execFile);
const MB = 1024 * 1024;
const SUFFIX = '.img';
/** Block size of `stat`. */
const BLOCK_BYTES = 512;
/** Space that ext4 needs for itself. */
const MB_LEAST = 16;
const CONTROL = '/dev/loop-control';
/** Attempts, since another process may take a free device first. */
const DEVICE_TRIES = 5;

/** Storage of sandbox files. */
export interface Disks {
  /** Attaches the disk to a loop device, and creates it if missing. @returns the device. */
  attach(key: string): Promise<string>;
  /**
   * Call this function once the engine has mounted the device: from then on, the kernel frees the device after its last
   * use.
   */
  release(device: string): Promise<void>;
  /**
   * Copies a disk, sharing blocks if possible. No process may write to the disk in the meantime. @returns the size of
   * the copy.
   */
  copy(from: string, to: string): Promise<number>;
  has(key: string): boolean;
  /** Deletes the file and detaches its device. */
  remove(key: string): Promise<void>;
  keys(): readonly string[];
  /** Bytes used by each disk, by key: at most the amount that was ever written. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** Stops all work and removes everything but disks. */
  close(): Promise<void>;
}

/** @throws {Error} with the fix when this machine has no loop devices or a program is missing. */
export async function openDisks(folder: string, megabytes: number, user: number): Promise<Disks> {
  const otherwise = 'or set SANDBOX_DISK_MB=0: sandboxes then share the disk of the engine, without a limit';
  if (megabytes < MB_LEAST) throw new Error(`SANDBOX_DISK_MB must be 0 or at least ${MB_LEAST}, but is "${megabytes}"`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (key: string): string => path.join(folder, key + SUFFIX);
  /** Null if the disk does not exist. */
  const bytesOf = async (key: string): Promise<number | null> =>
    stat(fileOf(key)).then(
      ({ blocks }) => blocks * BLOCK_BYTES,
      () => null,
    );
  const run = async (program: string, ...words: string[]): Promise<string> => {
    try {
      return (await runProgram(program, words)).stdout.trim();
    } catch (error) {
      const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
      if (code === 'ENOENT')
        throw new Error(`${program} is not installed (packages e2fsprogs and mount): install it, ${otherwise}`, {
          cause: error,
        });
      throw new Error(`${program}: ${stderr.trim().slice(0, 300)}`, { cause: error });
    }
  };
  // A container has its own /dev, without the devices that the kernel creates on demand.
  const makesNodes = !existsSync(CONTROL);
  const makeNode = async (device: string): Promise<void> => {
    const number = /^\/dev\/loop(\d+)$/.exec(device)?.[1];
    if (number !== undefined && !existsSync(device)) await run('mknod', '--mode=0600', device, 'b', '7', number);
  };
  if (makesNodes) {
    await run('mknod', '--mode=0600', CONTROL, 'c', '10', '237').catch((error: Error) => {
      throw new Error(`${error.message}. Give the service loop devices (root, CAP_MKNOD), ${otherwise}`, {
        cause: error,
      });
    });
    for (const name of readdirSync('/sys/block')) await makeNode(`/dev/${name}`);
  }
  const attachFree = async (file: string): Promise<string> => {
    for (let attempt = 1; ; attempt++) {
      if (makesNodes) await makeNode(await run('losetup', '--find'));
      try {
        return await run('losetup', '--find', '--show', '--nooverlap', file);
      } catch (error) {
        if (!makesNodes || attempt === DEVICE_TRIES) throw error;
      }
    }
  };
  const devicesOf = async (file: string): Promise<string[]> =>
    (await run('losetup', '--associated', file, '--noheadings', '--output', 'NAME')).split('\n').filter(Boolean);
  const detach = async (file: string): Promise<void> => {
    for (const device of await devicesOf(file)) await run('losetup', '--detach', device);
  };
  /** A disk that is not assigned yet. */
  const makeEmpty = async (): Promise<string> => {
    const file = path.join(folder, `empty-${randomUUID()}`);
    try {
      const handle = await open(file, 'w', 0o600);
      await handle.truncate(megabytes * MB);
      await handle.close();
      const options = `root_owner=${user}:${user},lazy_itable_init=1,lazy_journal_init=1,nodiscard`;
      await run('mkfs.ext4', '-q', '-F', '-m', '0', '-E', options, file);
      return file;
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  };
  /** Creates a spare disk in advance, to save the next sandbox the mkfs. Errors are reported by that sandbox. */
  let spare: Promise<string | null> | null = null;
  let isClosed = false;
  const takeEmpty = async (file: string): Promise<void> => {
    const ahead = spare;
    spare = null;
    const found = (await ahead) ?? (await makeEmpty());
    try {
      await rename(found, file);
    } catch (error) {
      // A starting replica clears the folder.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await rename(await makeEmpty(), file);
    }
    if (!isClosed) spare ??= makeEmpty().catch(() => null);
  };

  const disks: Disks = {
    async attach(key) {
      const file = fileOf(key);
      if (!existsSync(file)) await takeEmpty(file);
      else await detach(file); // Left over from a failed attempt.
      return attachFree(file);
    },
    release: async (device) => void (await run('losetup', '--detach', device)),
    async copy(from, to) {
      const file = fileOf(from);
      // Flushes the page cache of the file system on the device, wherever it is mounted.
      for (const device of await devicesOf(file)) await run('blockdev', '--flushbufs', device);
      const unfinished = `${fileOf(to)}.${process.pid}`;
      try {
        await run('cp', '--reflink=auto', '--sparse=always', '--', file, unfinished);
        await rename(unfinished, fileOf(to));
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
      return (await bytesOf(to)) ?? 0;
    },
    has: (key) => existsSync(fileOf(key)),
    async remove(key) {
      const file = fileOf(key);
      if (!existsSync(file)) return;
      await detach(file);
      await rm(file, { force: true });
    },
    keys: () => readdirSync(folder).flatMap((name) => (name.endsWith(SUFFIX) ? [name.slice(0, -SUFFIX.length)] : [])),
    async sizes() {
      const found = await Promise.all(disks.keys().map(async (key) => [key, await bytesOf(key)] as const));
      return new Map(found.filter((entry): entry is readonly [string, number] => entry[1] !== null));
    },
    async close() {
      isClosed = true;
      const left = (await spare) ?? null;
      if (left !== null) await rm(left, { force: true });
    },
  };
  for (const name of readdirSync(folder)) if (!name.endsWith(SUFFIX)) rmSync(path.join(folder, name), { force: true });
  // A trial at the start: if a program or device is missing, the service fails now rather than with the first sandbox.
  const trial = `trial${process.pid}`;
  const empty = path.join(folder, `empty-${randomUUID()}`);
  try {
    await rename(await makeEmpty(), fileOf(trial));
    await disks.release(await disks.attach(trial));
    await rename(fileOf(trial), empty);
    spare = Promise.resolve(empty);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(
      message.includes('SANDBOX_DISK_MB')
        ? message
        : `${message}. Give the service loop devices (root, /dev), ${otherwise}`,
      {
        cause: error,
      },
    );
  } finally {
    await disks.remove(trial).catch(() => {});
  }
  return disks;
}
