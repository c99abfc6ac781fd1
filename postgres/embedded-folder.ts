// The folder of the embedded Postgres: how its server reaches it, its password, its socket, and its space on the disk.
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canEnter, type RunAs } from './embedded-binaries.ts';

/** A socket's path has at most 107 bytes; Postgres adds `/.s.PGSQL.5432`. */
const SOCKET_FOLDER_BYTES_MAX = 90;

/** How the server reaches its folder: by its path, or by an inherited descriptor. */
export interface Seen {
  readonly folder: string;
  /** Descriptor of the folder; null if its path is accessible. */
  readonly fd: number | null;
}

/** Number of the descriptor in the server and its programs. */
const INHERITED_FD = 3;

/**
 * As root, the server runs as a user who may not be able to enter the parent folders, such as `/root`. The server then
 * inherits an open descriptor of its folder, so that the data stays in the requested folder, and no parent folder has
 * to be opened to others.
 *
 * @throws {Error} with instructions if the system does not support this.
 */
export function placeFor(folder: string, user: RunAs | null): Seen {
  if (user !== null) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  if (canEnter(path.dirname(folder), user)) return { folder, fd: null };
  if (process.platform !== 'linux')
    throw new Error(
      `Postgres does not run as root, and the user it runs as cannot enter ${path.dirname(folder)}. ` +
        'Start the platform as another user, choose a data folder that all users can enter (FS_PATH), or set DATABASE_URL to a Postgres of your own',
    );
  return { folder: `/proc/self/fd/${INHERITED_FD}`, fd: openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY) };
}

/**
 * Earlier versions moved the data elsewhere and recorded its path in a file. This function moves the data back into the
 * data folder.
 */
export function takeBack(folder: string, user: RunAs | null): void {
  const note = path.join(folder, 'LOCATION');
  if (!existsSync(note)) return;
  const elsewhere = readFileSync(note, 'utf8').trim();
  for (const name of existsSync(elsewhere) ? readdirSync(elsewhere).filter((entry) => /^data-\d+$/.test(entry)) : []) {
    const target = path.join(folder, name);
    if (existsSync(target)) continue;
    try {
      renameSync(path.join(elsewhere, name), target);
    } catch (error) {
      throw new Error(
        `The data of the embedded Postgres is in ${elsewhere}: move ${name} to ${folder} and keep its owner`,
        {
          cause: error,
        },
      );
    }
    if (user !== null) chownSync(target, user.uid, user.gid);
  }
  rmSync(note);
}

/** The owner's password; created on the first call. */
export function passwordOf(folder: string): string {
  const file = path.join(folder, 'password');
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

/** Clients find the socket by its path, so it is elsewhere if that path is too long; no data is stored in it. */
export function socketPath(place: string): string {
  const folder = path.join(place, 'socket');
  if (Buffer.byteLength(folder) <= SOCKET_FOLDER_BYTES_MAX) return folder;
  const hash = createHash('sha256').update(place).digest('hex').slice(0, 16);
  return path.join(Buffer.byteLength(tmpdir()) > 40 ? '/tmp' : tmpdir(), `platform-pg-${hash}`);
}

/** Creates the socket's folder for the server's user. */
export function socketFolder(place: string, user: RunAs | null): string {
  const folder = socketPath(place);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid } = statSync(folder);
  if (uid !== (process.getuid?.() ?? uid) && uid !== user?.uid) throw new Error(`${folder} belongs to another user`);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  return folder;
}

/** Disk usage of a new server. */
const NEW_DATA_BYTES = 64 * 1024 * 1024;

/** @throws {Error} when the disk has too little space for the data of a new server. */
export function checkSpace(folder: string, keepsFreeBytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (keepsFreeBytes > 0 && bavail * bsize < NEW_DATA_BYTES + keepsFreeBytes)
    throw new Error(
      `The disk of ${folder} has ${bavail * bsize} bytes free: an embedded Postgres needs ${NEW_DATA_BYTES}, and ${keepsFreeBytes} stay free (DISK_FREE_BYTES_MIN)`,
    );
}
