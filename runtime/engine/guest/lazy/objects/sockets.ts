// The WebSockets that a durable object has accepted: their messages are events of the object, which call its methods.

/** What accepted sockets need of their object. */
interface SocketOwner {
  /** Runs an event as soon as it may enter. */
  run(event: (instance: Record<string, unknown>) => unknown): Promise<unknown>;
}

export interface AcceptedSocket {
  accept(): void;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  readonly readyState: number;
  addEventListener(type: string, listener: (event: never) => void): void;
}

interface Accepted {
  readonly tags: readonly string[];
  answeredAt: Date | null;
}

/** A request that is answered without an event of the object. */
export interface AutoResponse {
  readonly request: string;
  readonly response: string;
}

const [TAGS_MAX, TAG_CHARS_MAX, SOCKETS_MAX] = [10, 256, 32_768];
const [CLOSED, NO_CODE] = [3, 1005];

export class AcceptedSockets {
  readonly #owner: SocketOwner;
  readonly #sockets = new Map<AcceptedSocket, Accepted>();
  autoResponse: AutoResponse | null = null;

  constructor(owner: SocketOwner) {
    this.#owner = owner;
  }

  accept(socket: AcceptedSocket, tags: readonly unknown[] = []): void {
    if (this.#sockets.has(socket)) throw new TypeError('The WebSocket has been accepted already');
    if (this.#sockets.size >= SOCKETS_MAX)
      throw new TypeError(`A durable object accepts at most ${SOCKETS_MAX} WebSockets`);
    const texts = [...new Set(Array.from(tags, String))];
    if (texts.length > TAGS_MAX) throw new TypeError(`A WebSocket has at most ${TAGS_MAX} tags`);
    if (texts.some((tag) => tag.length > TAG_CHARS_MAX))
      throw new TypeError(`A tag of a WebSocket has at most ${TAG_CHARS_MAX} characters`);
    socket.accept();
    const accepted: Accepted = { tags: texts, answeredAt: null };
    this.#sockets.set(socket, accepted);
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      const auto = this.autoResponse;
      if (auto !== null && data === auto.request) {
        accepted.answeredAt = new Date();
        socket.send(auto.response);
      } else this.#call('webSocketMessage', socket, data);
    });
    socket.addEventListener(
      'close',
      ({ code, reason, wasClean }: { code: number; reason: string; wasClean: boolean }) => {
        this.#sockets.delete(socket);
        this.#call('webSocketClose', socket, code === 0 ? NO_CODE : code, reason, wasClean);
      },
    );
    socket.addEventListener('error', ({ error }: { error: unknown }) => this.#call('webSocketError', socket, error));
  }

  #call(name: string, ...parameters: readonly unknown[]): void {
    void this.#owner
      .run((instance) => {
        const method = instance[name];
        return typeof method === 'function' ? (Reflect.apply(method, instance, parameters) as unknown) : undefined;
      })
      .catch((error: unknown) => {
        if (name !== 'webSocketError') reportLater(error);
      });
  }

  list(tag?: unknown): AcceptedSocket[] {
    const found: AcceptedSocket[] = [];
    for (const [socket, { tags }] of this.#sockets)
      if (socket.readyState < CLOSED && (tag === undefined || tags.includes(String(tag)))) found.push(socket);
    return found;
  }

  #of(socket: AcceptedSocket): Accepted {
    const accepted = this.#sockets.get(socket);
    if (accepted === undefined) throw new TypeError('The WebSocket was not accepted by this durable object');
    return accepted;
  }

  tagsOf(socket: AcceptedSocket): string[] {
    return [...this.#of(socket).tags];
  }

  answeredAt(socket: AcceptedSocket): Date | null {
    return this.#of(socket).answeredAt;
  }

  /** The instance is gone, and its sockets with it. */
  closeAll(reason: string): void {
    for (const socket of this.#sockets.keys()) socket.close(1011, reason.slice(0, 100));
    this.#sockets.clear();
  }
}

/** As an error that nobody caught. */
function reportLater(error: unknown): void {
  void Promise.reject(error as Error);
}
