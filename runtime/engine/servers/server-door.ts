// The way to a server as an engine uses it: its Unix socket, opened once and safely, and the connections that are kept
// to it. The server's own code may put anything where its socket was, such as a link to a socket of the platform: what
// is connected to is what was looked at, by its descriptor. Made by server-lane.ts.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { Agent } from 'node:http';

/** Not among Node's constants: a descriptor that only names a file (Linux). */
const O_PATH = 0o10000000;
/** Connections to one server; more requests wait. */
const CONNECTIONS_MAX = 256;

export class ServerDoor {
  /** As the process of servers calls it. */
  readonly socket: string;
  /** What is connected to. */
  readonly path: string;
  readonly agent: Agent;
  #descriptor: number;

  /** @throws {Error} where it is no socket. */
  constructor(socket: string) {
    this.socket = socket;
    this.#descriptor = openSync(socket, O_PATH | constants.O_NOFOLLOW);
    if (!fstatSync(this.#descriptor).isSocket()) {
      closeSync(this.#descriptor);
      throw new Error('its socket is another file');
    }
    this.path = `/proc/self/fd/${this.#descriptor}`;
    const { Agent } = process.getBuiltinModule('node:http');
    this.agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: CONNECTIONS_MAX });
  }

  /** Once no request uses it. */
  close(): void {
    this.agent.destroy();
    closeSync(this.#descriptor);
  }
}
