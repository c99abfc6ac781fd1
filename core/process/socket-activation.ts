// Socket activation: systemd opens the handler's listening socket (`platform.socket`, docs/install.md), and connections
// that come while the platform restarts or is upgraded wait in it. `platform start` takes it and sends it to the
// supervisor, which shares it with the engines.
import type { ChildProcess } from 'node:child_process';
import { isIP, Socket, type AddressInfo } from 'node:net';
import { Failure } from '../failure.ts';

/** A socket handle of the system, without Node's object for it. */
export interface SentHandle {
  close(): void;
}

/** The socket from systemd, for another process. */
interface ActivatedSocket {
  readonly port: number;
  /**
   * Sends the socket to a child process, which waits for it in {@link receiveSocket}. After that, this process closes
   * its own copy.
   */
  sendTo(child: ChildProcess): void;
}

/** The first descriptor that systemd passes (sd_listen_fds). */
const FIRST_FD = 3;
/** Variable that is set for the child process. */
const VARIABLE = 'HANDLER_SOCKET';

interface SocketMessage {
  readonly type: 'socket';
  readonly port: number;
}

/**
 * The socket that systemd passed to this process (`LISTEN_FDS`, `LISTEN_PID`), or null.
 *
 * @throws {Failure} `configuration` when there are several sockets, the socket does not listen on a TCP port, or
 * variables ask for another port or listener.
 */
export function takeActivatedSocket(environment: NodeJS.ProcessEnv): ActivatedSocket | null {
  if (environment['LISTEN_PID'] !== String(process.pid)) return null;
  const count = environment['LISTEN_FDS'] ?? '';
  const refuse = (text: string): never => {
    throw new Failure('configuration', text);
  };
  if (count !== '1') refuse(`platform.socket has ${count || 'no'} sockets, and needs one: ListenStream of the handler`);
  const socket = openDescriptor();
  const { port, address = '' } = (socket?.address() ?? {}) as Partial<AddressInfo>;
  if (socket === null || port === undefined) return refuse('ListenStream of platform.socket is not a TCP port');
  const wanted = environment['HANDLER_PORT']?.trim() || String(port);
  if (wanted !== String(port)) refuse(`ListenStream of platform.socket is ${port}, and HANDLER_PORT is ${wanted}`);
  const host = environment['HANDLER_HOST']?.trim() ?? '';
  if (isIP(host) !== 0 && host !== address)
    refuse(`ListenStream of platform.socket is ${address}:${port}, and HANDLER_HOST is ${host}`);
  if (environment['HANDLER_LISTENER']?.trim() === 'uws')
    refuse('HANDLER_LISTENER is uws, which cannot use the socket of platform.socket');
  return {
    port,
    sendTo(child) {
      const { _handle: handle } = socket as unknown as { readonly _handle: object };
      child.send({ type: 'socket', port } satisfies SocketMessage, handle as never, {}, () => socket.destroy());
    },
  };
}

function openDescriptor(): Socket | null {
  try {
    return new Socket({ fd: FIRST_FD, readable: false, writable: false });
  } catch {
    return null;
  }
}

/** Variables of the process that gets the socket. */
export function variablesWithSocket(given: ActivatedSocket | null): Record<string, string | undefined> {
  const none = { LISTEN_FDS: undefined, LISTEN_PID: undefined, LISTEN_FDNAMES: undefined, [VARIABLE]: undefined };
  return given === null ? none : { ...none, [VARIABLE]: 'sent', HANDLER_LISTENER: 'node' };
}

/** Waits for the socket that the parent process sends; null means it sends none. */
export async function receiveSocket(
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly port: number; readonly socket: SentHandle } | null> {
  if (environment[VARIABLE] !== 'sent') return null;
  return new Promise((resolve) => {
    process.on('message', function take(message: SocketMessage, handle: unknown) {
      if (message.type !== 'socket') return;
      process.off('message', take);
      resolve({ port: message.port, socket: handle as SentHandle });
    });
  });
}
