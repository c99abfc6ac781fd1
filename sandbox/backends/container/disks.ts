// The disks of sandboxes: a file each with a file system of a fixed size, which the engine mounts by a loop device. The
// device belongs to the mount: the kernel lets go of it when the container ends, however it ends. Needs root.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, existsSync, rmSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const runProgram = promisify(execFile);
const MB = 1024 * 1024;
const SUFFIX = '.img';
/** As the kernel counts what a file takes. */
const BLOCK_BYTES = 512;
/** ext4 with what it needs for itself. */
const MB_LEAST = 16;
const CONTROL = '/dev/loop-control';
/** Others may take a device between our look for it and its use. */
const DEVICE_TRIES = 5;

/** Where the bytes of sandboxes lie. */
export interface Disks {
  /** Attached to a loop device; made where there is none. @returns the device. */
  attach(key: string): Promise<string>;
  /** To be said once the engine has mounted the device: from then on its last user frees it. */
  release(device: string): Promise<void>;
  /** Another disk of the same bytes, as far as there are any. Nobody may write meanwhile. @returns what it takes. */
  copy(from: string, to: string): Promise<number>;
  has(key: string): boolean;
  /** The file goes, and what holds it. */
  remove(key: string): Promise<void>;
  keys(): readonly string[];
  /** What each takes, by key: no more than was ever written to it. */
  sizes(): Promise<ReadonlyMap<string, number>>;
  /** Nothing of it is at work afterwards, and nothing lies there but disks. */
  close(): Promise<void>;
}

/** @throws {Error} with what to do, where this machine has no loop devices or lacks a program. */
export async function openDisks(folder: string, megabytes: number, user: number): Promise<Disks> {
  const otherwise = 'or set SANDBOX_DISK_MB=0: sandboxes then share the disk of the engine, without a limit';
  if (megabytes < MB_LEAST) throw new Error(`SANDBOX_DISK_MB must be 0 or at least ${MB_LEAST}, but is "${megabytes}"`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (key: string): string => path.join(folder, key + SUFFIX);
  /** Null: it is gone. */
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
  // A container has a folder of devices of its own, and in it none of those that the kernel makes as they are needed.
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
  /** One that belongs to nobody yet. */
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
  /** Made ahead of the sandbox that takes it, which would wait for its file system. What is wrong, that one says. */
  let spare: Promise<string | null> | null = null;
  let isClosed = false;
  const takeEmpty = async (file: string): Promise<void> => {
    const ahead = spare;
    spare = null;
    const found = (await ahead) ?? (await makeEmpty());
    try {
      await rename(found, file);
    } catch (error) {
      // Another replica that starts clears the folder.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await rename(await makeEmpty(), file);
    }
    if (!isClosed) spare ??= makeEmpty().catch(() => null);
  };

  const disks: Disks = {
    async attach(key) {
      const file = fileOf(key);
      if (!existsSync(file)) await takeEmpty(file);
      else await detach(file); // Of an attempt that came to nothing.
      return attachFree(file);
    },
    release: async (device) => void (await run('losetup', '--detach', device)),
    async copy(from, to) {
      const file = fileOf(from);
      // What was written lies in memory at first. This reaches the file system on the device, wherever it is mounted.
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
  // The program that is missing, and the device that cannot be had, are found now rather than by the first worker.
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
