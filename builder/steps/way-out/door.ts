// The host's side of the way out of one build, which has a network that leads nowhere: a Unix socket in a folder that
// is shown to it, on which it asks for connections by name and port. Opened by sandbox.ts.
import { chmod, chown, mkdir, open, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { lead, type WayOut } from '#core/way-out/lead.ts';
import { SOCKET } from './inside.ts';

/** An open one. */
export interface Door {
  /** With the socket in it. */
  readonly folder: string;
  /** Ends all connections, and removes the folder. */
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 256;
const LINE_BYTES_MAX = 512;
const LINE_MS_MAX = 30_000;

/** @param folder is made. @param uid who may come through; null: the platform's own user. */
export async function openDoor(folder: string, uid: number | null, way: WayOut): Promise<Door> {
  await mkdir(folder, { mode: 0o700 });
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    if (sockets.size > CONNECTIONS_MAX)
      socket.end(`EMFILE a build has at most ${CONNECTIONS_MAX} connections at a time\n`, () => socket.destroy());
    else readTarget(socket, (target) => lead(target, socket, way));
  });
  // Addresses of sockets are short, and folders of builds may lie deep.
  const handle = await open(folder);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(`/proc/self/fd/${handle.fd}/${SOCKET}`, resolve);
  });
  await chmod(join(folder, SOCKET), 0o600);
  if (uid !== null) for (const path of [join(folder, SOCKET), folder]) await chown(path, uid, uid);
  return {
    folder,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await handle.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The first line. */
function readTarget(socket: Socket, onTarget: (target: string) => void): void {
  let line = Buffer.alloc(0);
  const take = (chunk: Buffer): void => {
    line = Buffer.concat([line, chunk]);
    const end = line.indexOf('\n');
    if (end === -1) return void (line.length > LINE_BYTES_MAX && socket.destroy());
    socket.off('data', take).pause().setTimeout(0);
    if (line.length > end + 1) socket.unshift(line.subarray(end + 1));
    onTarget(line.subarray(0, end).toString());
  };
  socket.setTimeout(LINE_MS_MAX, () => socket.destroy()).on('data', take);
}
