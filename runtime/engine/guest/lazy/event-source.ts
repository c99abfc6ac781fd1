// EventSource (HTML Standard 9.2) over fetch: reconnects with the last event's id, after a second or the delay that
// the server sets. lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 2;
const RECONNECT_MS = 1000;
const RECONNECT_MS_MAX = 3_600_000;
/** Maximum length of a line or an event in characters, because a stream without line ends would fill the isolate. */
const EVENT_LENGTH_MAX = 16 * 1024 * 1024;

export default function createEventSource(deps: LazyDeps): Record<string, unknown> {
  const {
    DOMException,
    Event,
    EventTarget,
    MessageEvent,
    TextDecoder,
    URL,
    defineEventHandler,
    dispatchTrusted,
    fetch,
    setTimeout,
  } = deps;
  const { AbortController, clearTimeout } = deps;
  const { defineConstants, finishInterface, requireArguments, toDictionary, toUsvString } = deps.webidl;

  class EventSource extends EventTarget {
    declare onopen: unknown;
    declare onmessage: unknown;
    declare onerror: unknown;
    #url: string;
    #withCredentials: boolean;
    #state = CONNECTING;
    #lastEventId = '';
    #reconnectMs = RECONNECT_MS;
    #timer = 0;
    #abort = new AbortController();

    constructor(url: string, init: unknown = undefined) {
      super();
      requireArguments(arguments.length, 1, 'EventSource');
      const { withCredentials } = toDictionary(init, 'EventSource options');
      this.#withCredentials = Boolean(withCredentials);
      try {
        this.#url = new URL(toUsvString(url)).href;
      } catch {
        throw new DOMException('The URL of an EventSource is not valid', 'SyntaxError');
      }
      void this.#connect();
    }

    get url(): string {
      return this.#url;
    }
    get withCredentials(): boolean {
      return this.#withCredentials;
    }
    get readyState(): number {
      return this.#state;
    }

    close(): void {
      this.#state = CLOSED;
      clearTimeout(this.#timer);
      this.#abort.abort();
    }

    async #connect(): Promise<void> {
      const headers: Record<string, string> = { accept: 'text/event-stream', 'cache-control': 'no-store' };
      if (this.#lastEventId !== '') headers['last-event-id'] = this.#lastEventId;
      let response;
      try {
        response = await fetch(this.#url, { headers, signal: this.#abort.signal });
      } catch {
        this.#reconnect();
        return;
      }
      if (this.#isClosed()) return;
      const type = response.headers.get('content-type') ?? '';
      if (response.status !== 200 || !/^\s*text\/event-stream\s*(?:;|$)/i.test(type)) {
        void response.body?.cancel();
        this.#fail();
        return;
      }
      this.#state = OPEN;
      dispatchTrusted(this, new Event('open'));
      try {
        await this.#read(response);
      } catch {
        // A broken connection is handled like the end of the stream.
      }
      this.#reconnect();
    }

    #isClosed(): boolean {
      return this.#state === CLOSED;
    }

    #fail(): void {
      if (this.#isClosed()) return;
      this.#state = CLOSED;
      dispatchTrusted(this, new Event('error'));
    }

    #reconnect(): void {
      if (this.#isClosed()) return;
      this.#state = CONNECTING;
      dispatchTrusted(this, new Event('error'));
      if (!this.#isClosed()) this.#timer = setTimeout(() => void this.#connect(), this.#reconnectMs);
    }

    async #read(response: { readonly url: string; readonly body: { getReader(): Reader } | null }): Promise<void> {
      if (response.body === null) return;
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const { origin } = new URL(response.url);
      let rest = '';
      let endedInReturn = false;
      let data = '';
      let type = '';
      let id = this.#lastEventId;
      const line = (text: string): void => {
        if (text === '') {
          this.#lastEventId = id;
          if (data !== '' && !this.#isClosed()) {
            const event = new MessageEvent(type === '' ? 'message' : type, {
              data: data.slice(0, -1),
              origin,
              lastEventId: id,
            });
            dispatchTrusted(this, event);
          }
          data = '';
          type = '';
          return;
        }
        const colon = text.indexOf(':');
        const field = colon < 0 ? text : text.slice(0, colon);
        const value = colon < 0 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
        if (field === 'data') data += `${value}\n`;
        else if (field === 'event') type = value;
        else if (field === 'id' && !value.includes('\0')) id = value;
        else if (field === 'retry' && /^\d+$/.test(value))
          this.#reconnectMs = Math.min(Number(value), RECONNECT_MS_MAX);
      };
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#isClosed()) return;
        const chunk = decoder.decode(value as Uint8Array, { stream: true });
        if (chunk === '') continue;
        // The second half of a line break whose first half ended the previous chunk.
        rest += endedInReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
        endedInReturn = chunk.endsWith('\r');
        const lines = rest.split(/\r\n|\n|\r/);
        rest = lines.pop() as string;
        for (const text of lines) line(text);
        if (rest.length + data.length > EVENT_LENGTH_MAX) {
          await reader.cancel();
          this.#fail();
          return;
        }
      }
    }
  }
  finishInterface(EventSource);
  defineConstants(EventSource, { CONNECTING, OPEN, CLOSED });
  for (const type of ['open', 'message', 'error']) defineEventHandler(EventSource.prototype, type);
  return { EventSource };
}

interface Reader {
  read(): Promise<{ done: boolean; value?: unknown }>;
  cancel(): Promise<void>;
}
