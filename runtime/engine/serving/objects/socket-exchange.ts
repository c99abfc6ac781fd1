// An event of a WebSocket that the engine keeps, as an exchange. The exchange has no request, and its response only
// says that the object has finished with the event. Made by handler.ts.
import type { HostMemory } from '../../bridge/host-memory.ts';
import { NO_ADDRESS } from '../../http/session-exchange.ts';
import type { Exchange } from '../../http/listener.ts';

export class SocketEventExchange implements Exchange {
  readonly method = 'WEBSOCKET';
  readonly target: string;
  readonly host = 'object';
  readonly headerBlock = '';
  readonly remoteAddress = NO_ADDRESS;
  readonly bodyBytes = 0;
  readonly isOfObject = true;
  readonly sentBytes = 0;
  requestId = '';
  refusedCookies = '';
  memory: HostMemory | null = null;
  onAbort: (() => void) | null = null;
  onDrain: (() => void) | null = null;

  /** @param event its name. */
  constructor(event: string) {
    this.target = `/${event}`;
  }

  header(): null {
    return null;
  }
  readBody(): void {}
  resumeBody(): void {}
  send(): void {}
  begin(): void {}
  write(): boolean {
    return true;
  }
  end(): void {}
  upgrade(): null {
    return null;
  }
  destroy(): void {}
}
