// An engine's connections to a server: opens the server's Unix socket once and safely, and keeps connections open. The
// server's own code may replace its socket, for example by a link to a socket of the platform, so connections go to the
// file that was checked, by its descriptor. Made by server-lane.ts.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { Agent } from 'node:http';

/** The flag for a descriptor that only refers to a file (Linux), for which Node has no constant. */
const O_PATH = 0o10000000;
/** Maximum number of connections to one server; further requests wait. */
const CONNECTIONS_MAX = 256;

export class ServerConnector {
  /** Path of the socket in the server process. */
  readonly socket: string;
  /** Path to which connections are opened. */
  readonly path: string;
  readonly agent: Agent;
  #descriptor: number;

  /** @throws {Error} if the path is not a socket. */
  constructor(socket: string) {
    this.socket = socket;
    this.#descriptor = openSync(socket, O_PATH | constants.O_NOFOLLOW);
    if (!fstatSync(this.#descriptor).isSocket()) {
      closeSync(this.#descriptor);
      throw new Error('its socket was replaced by another file');
    }
    this.path = `/proc/self/fd/${this.#descriptor}`;
    const { Agent } = process.getBuiltinModule('node:http');
    this.agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: CONNECTIONS_MAX });
  }

  /** Call this function when no request uses the server. */
  close(): void {
    this.agent.destroy();
    closeSync(this.#descriptor);
  }
}
