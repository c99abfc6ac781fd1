// Calls from a deployment's worker to another worker, or to another of its own entrypoints. http/worker-calls.ts
// forwards them. Types only.
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { ServiceTarget } from '#core/bindings/service.ts';
import type { FetchedResponse } from './fetched-response.ts';
import type { PlatformHostRequest } from './platform-hosts.ts';

/** Target of a call; null means the caller's own deployment. */
export interface WorkerTarget {
  readonly service: ServiceTarget | null;
  /** Name of the export; null means the default export. */
  readonly entrypoint: string | null;
  /** JSON of `ctx.props`. */
  readonly props: string;
}

/** A request for a worker. */
export interface WorkerRequest extends PlatformHostRequest {
  /** Set for a WebSocket handshake. */
  readonly socket: SocketOpener | null;
}

/** Opens the caller's socket. @returns the receiver of the socket's events; `attach` attaches the wire. */
export interface SocketOpener {
  open(): SocketEvents & { attach(wire: SocketWire): void };
}

/** A session with a worker. */
export interface WorkerSession {
  /** The called method, for logs. */
  readonly label: string;
  /** The first frame. */
  readonly frame: Part;
  /** Lower-case names and values, alternating. */
  readonly headers: readonly string[];
  readonly received: (name: string) => string | null;
  readonly socket: SocketOpener;
  readonly memory: HostMemory;
}

/** The calls of one deployment. */
export interface WorkerCalls {
  /** @throws {PlatformError} `service_not_found`, `service_failed`, `service_depth_exceeded`. */
  fetch(target: WorkerTarget, url: URL, request: WorkerRequest): Promise<FetchedResponse>;
  /**
   * Opens a session; resolves when it is over. @throws {PlatformError} as `fetch` does, or with the reason why the
   * called worker failed.
   */
  connect(target: WorkerTarget, session: WorkerSession): Promise<void>;
}
