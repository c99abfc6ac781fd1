// The host's side of a build's outgoing connections. The build has an isolated network and requests connections by name
// and port on a Unix socket, in a folder mounted into it. Opened by fence.ts.
import { chmod, chown, mkdir, open, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { answerConnect, type Outbound } from '#core/outbound/connect.ts';
import { SOCKET_NAME } from './inside.ts';

/** A listening socket. */
interface Listener {
  /** Path of the socket. */
  readonly folder: string;
  /** Closes all connections, and deletes the folder. */
  close(): Promise<void>;
}

const CONNECTIONS_MAX = 256;
const LINE_BYTES_MAX = 512;
const LINE_MS_MAX = 30_000;

/** @param folder is created. @param uid the user who may connect; null means the user of the platform. */
export async function openListener(folder: string, uid: number | null, outbound: Outbound): Promise<Listener> {
  await mkdir(folder, { mode: 0o700 });
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    if (sockets.size > CONNECTIONS_MAX)
      socket.end(`EMFILE a build has at most ${CONNECTIONS_MAX} connections at a time\n`, () => socket.destroy());
    else readTarget(socket, (target) => answerConnect(target, socket, outbound));
  });
  // The socket is not in the build's folder, because socket paths have a short maximum length.
  const handle = await open(folder);
  await new Promise<void>((resolve, reject) => {
    // Later errors are failed accepts, which only affect the build.
    server.on('error', reject).listen(`/proc/self/fd/${handle.fd}/${SOCKET_NAME}`, resolve);
  });
  await chmod(join(folder, SOCKET_NAME), 0o600);
  if (uid !== null) for (const path of [join(folder, SOCKET_NAME), folder]) await chown(path, uid, uid);
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

/** Reads the first line. */
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
