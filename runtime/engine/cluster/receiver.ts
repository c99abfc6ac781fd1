// The end of the link in the engine that serves requests: accepts links of other engines on a Unix socket, and passes
// their requests to the handler. Opened by main.ts.
import { createServer, type Socket } from 'node:net';
import type { Exchange } from '../http/listener.ts';
import { HeadCache } from '../http/header-block.ts';
import { InFlight } from '#core/in-flight.ts';
import { isObjectKey } from '#core/object-address.ts';
import {
  ABORT,
  BODY,
  BODY_END,
  CREDIT,
  REQUEST,
  SOCKET_CLOSE,
  SOCKET_TEXT,
  UNKNOWN,
  type FrameReader,
} from './frames.ts';
import { EngineLink } from './engine-link.ts';

import { ReceivedExchange } from './received-exchange.ts';

/** An open receiver. */
export interface Receiver {
  /** Forwarded requests that run here. */
  readonly load: number;
  /** Stops accepting links. Resolves when existing links have no work left, or at the deadline. */
  drain(deadlineMs: number): Promise<void>;
  close(): void;
}

interface ReceiverDeps {
  /** Path of the Unix socket. */
  readonly path: string;
  /** The platform's own domains: no cookie may be set for all of their hosts. */
  readonly domains?: readonly string[];
  /** Serves the request here in any case; returns false when the deployment is not known. */
  readonly onExchange: (deployment: string, exchange: Exchange) => boolean;
}

/** @throws {Error} of the system when the socket cannot be made. */
export async function openReceiver(deps: ReceiverDeps): Promise<Receiver> {
  const heads = new HeadCache(deps.domains);
  const sockets = new Set<Socket>();
  let load = 0;
  let onQuiet: (() => void) | null = null;

  const server = createServer((socket) => {
    const exchanges = new InFlight<ReceivedExchange>();
    sockets.add(socket);
    const over = (id: number): void => {
      if (exchanges.remove(id) !== undefined) load--;
    };
    const onFrame = (frame: FrameReader): void => {
      const id = frame.exchange;
      if (frame.kind !== REQUEST) {
        // A frame may be for an exchange that has ended, because both sides may write at the same time.
        const exchange = exchanges.get(id);
        if (frame.kind === BODY) exchange?.body(frame.bytes());
        else if (frame.kind === BODY_END) exchange?.bodyEnd();
        else if (exchange?.isSocket === true && frame.kind !== ABORT) exchange.socket(frame);
        else if (frame.kind === CREDIT) exchange?.credit(frame.number());
        else if (frame.kind === ABORT) exchange?.abort();
        else if (frame.kind < SOCKET_TEXT || frame.kind > SOCKET_CLOSE)
          throw new Error(`unknown frame kind ${frame.kind}`);
        return;
      }
      const bodyBytes = frame.float();
      const deployment = frame.string();
      const [method, target, host] = [frame.string(), frame.string(), frame.string()];
      const [remoteAddress, headerBlock] = [frame.string(), frame.string()];
      const exchange = new ReceivedExchange(
        id,
        { method, target, host, remoteAddress, headerBlock, bodyBytes, takesErrors: isObjectKey(deployment) },
        link,
        heads,
        over,
      );
      exchanges.put(id, exchange);
      load++;
      if (deps.onExchange(deployment, exchange)) return;
      over(id);
      link.say(UNKNOWN, id);
    };
    const link: EngineLink = new EngineLink(socket, onFrame, () => {
      sockets.delete(socket);
      for (const exchange of exchanges.values()) exchange.abort();
      if (sockets.size === 0) onQuiet?.();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(deps.path, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });

  return {
    get load() {
      return load;
    },
    async drain(deadlineMs) {
      server.close();
      if (sockets.size > 0) {
        await new Promise<void>((resolve) => {
          const deadline = setTimeout(resolve, deadlineMs);
          onQuiet = () => {
            clearTimeout(deadline);
            resolve();
          };
        });
      }
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
