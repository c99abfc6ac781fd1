// TCP sockets: `connect` of cloudflare:sockets. The host has the network (bindings/tcp.ts). lazy.ts loads this module
// when it is first used, reached through the hooks of node-hooks.ts.
import type { HostBody } from '../host.ts';
import type { LazyDeps } from '../lazy.ts';
import type { HostCallName } from '../../bridge/protocol.ts';
import { codedError, Outgoing } from './tcp/outgoing.ts';

/** Exports of this module. */
interface Tcp {
  readonly connect: (address: unknown, options?: unknown) => object;
  /** A socket without streams. */
  readonly open: (args: OpenArguments) => RawSocket;
  /** Makes a host name refer to a pool of this worker. */
  readonly addPool: (hostname: string, binding: string) => void;
}

declare module '../modules.ts' {
  interface Modules {
    tcp: Tcp;
  }
}

interface OpenArguments {
  readonly hostname: string;
  readonly port: number;
  readonly secure?: boolean;
  readonly tls?: object;
}

/** What the host reports about an open connection. */
interface Opened {
  readonly handle: number;
  readonly stream: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  readonly failure?: { readonly code: string; readonly message: string };
}

/** One connection: bytes in both directions. */
interface RawSocket {
  /** Resolves when the connection is open, or rejects with an error that has a code of Node. */
  readonly opened: Promise<Opened>;
  readonly closed: Promise<void>;
  /** The next bytes; null at their end. */
  read(): Promise<Uint8Array | null>;
  /** Stops reading. */
  cancel(): void;
  /** Sends bytes; resolves when the next bytes may follow. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the outgoing direction after the pending bytes. */
  end(): void;
  destroy(): void;
  /** Starts TLS after the written data; resolves when the other side has proved its name. */
  startTls(tls: object): Promise<Opened>;
}

const HOST_NAME = /^[^\s/@\0[\]]{1,253}$/;

export default function createTcp(deps: LazyDeps): Record<string, unknown> {
  const { SafeMap, WritableStream } = deps;
  /** Bindings of pools by their host names. */
  const pools = new SafeMap<string, string>();
  const { bodyToGuest, cancelPump, dropCall, freeAfterEntry, isAnyArrayBuffer, newStreamId, openPump, startCall } =
    deps;
  const { internal } = deps.webidl;

  /** Makes a call that opens a stream into the guest. The stream must be registered before its first chunk arrives. */
  function opening(
    name: HostCallName,
    args: object,
    take: (body: HostBody) => void,
  ): { id: number; reply: Promise<Opened> } {
    const call = startCall(name, args, [], (reply, owner) => {
      const { stream } = reply.value as Opened;
      if (stream !== undefined) take(bodyToGuest(stream, owner, true));
    });
    const opened = async (): Promise<Opened> => {
      const opened = (await call.reply).value as Opened;
      if (opened.failure !== undefined) throw codedError(opened.failure.code, opened.failure.message);
      return opened;
    };
    return { id: call.id, reply: opened() };
  }

  class Raw implements RawSocket {
    readonly opened: Promise<Opened>;
    readonly closed: Promise<void>;
    #out = new Outgoing(freeAfterEntry);
    #body: HostBody | null = null;
    /** Resolves when the stream of received bytes is known. */
    #ready: Promise<unknown>;
    #handle: number | null = null;
    #call: number;
    #isOver = false;

    constructor({ hostname, port, secure, tls }: OpenArguments) {
      const stream = newStreamId();
      const take = (body: HostBody): void => {
        this.#body = body;
      };
      const binding = pools.get(hostname);
      if (binding !== undefined && secure === true)
        throw new TypeError('Connections to a pool do not use TLS: the pool encrypts the connection to its server');
      const call =
        binding === undefined
          ? opening('tcp.connect', { hostname, port, secure: secure === true, tls, stream }, take)
          : opening('hyperdrive.connect', { binding, stream }, take);
      openPump(stream, this.#out, () => {});
      this.#call = call.id;
      this.opened = this.#ready = call.reply;
      this.closed = this.#close(stream);
      this.opened.catch(() => {});
      this.closed.catch(() => {});
    }

    async #close(stream: number): Promise<void> {
      try {
        const { handle } = await this.opened;
        this.#handle = handle;
        if (this.#isOver) this.destroy();
        const { value } = await startCall('tcp.closed', { handle }).reply;
        const { failure } = value as Opened;
        if (failure) throw codedError(failure.code, failure.message);
        this.#out.break(codedError('EPIPE', 'The connection is closed'));
      } catch (error) {
        this.#out.break(error);
        throw error;
      } finally {
        this.#isOver = true;
        cancelPump(stream);
      }
    }

    async read(): Promise<Uint8Array | null> {
      if (this.#body === null) await this.#ready;
      return this.#body!.read();
    }

    cancel(): void {
      const stop = (): void => this.#body?.cancel();
      this.#ready.then(stop, stop);
    }

    write(bytes: Uint8Array): Promise<void> {
      return this.#out.write(bytes);
    }

    end(): void {
      this.#out.end();
    }

    destroy(): void {
      this.#isOver = true;
      if (this.#handle === null) dropCall(this.#call);
      else startCall('tcp.destroy', { handle: this.#handle }).reply.catch(() => {});
    }

    async startTls(tls: object): Promise<Opened> {
      // The call is made synchronously, so that bytes that are written from now on follow the handshake.
      const held = this.#out.hold();
      const { handle } = await this.opened;
      await held;
      const call = opening('tcp.startTls', { handle, sent: this.#out.sent, tls }, (body) => {
        this.#body = body;
      });
      this.#ready = call.reply;
      this.#ready.catch(() => {});
      try {
        return await call.reply;
      } finally {
        this.#out.release();
      }
    }
  }

  function toChunk(chunk: unknown): Uint8Array {
    if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (isAnyArrayBuffer(chunk)) return new Uint8Array(chunk as ArrayBuffer);
    throw new TypeError('The writable side of a socket takes ArrayBuffers and views of them');
  }

  type Transport = 'on' | 'off' | 'starttls';

  class Socket {
    readonly #raw: RawSocket;
    readonly #hostname: string;
    readonly #transport: Transport;
    readonly #allowHalfOpen: boolean;
    readonly #opened: Promise<object>;
    readonly #closed: Promise<void>;
    readonly #readable: object;
    readonly #writable: object;
    readonly #end: { isUpgraded: boolean; isEnded: boolean };
    readonly #upgrade: () => void;

    constructor(
      key: unknown,
      raw: RawSocket,
      hostname: string,
      transport: Transport,
      allowHalfOpen: boolean,
      opened: Promise<Opened>,
    ) {
      if (key !== internal) throw new TypeError('Illegal constructor');
      this.#raw = raw;
      this.#hostname = hostname;
      this.#transport = transport;
      this.#allowHalfOpen = allowHalfOpen;
      this.#opened = opened.then(({ remoteAddress, localAddress, remotePort, localPort }) => ({
        remoteAddress: at(remoteAddress, remotePort),
        localAddress: at(localAddress, localPort),
      }));
      this.#opened.catch(() => {});
      // Called for an upgraded socket, when TLS takes over the connection.
      let upgraded!: () => void;
      this.#upgrade = () => upgraded();
      const takenOver = new Promise<void>((resolve) => (upgraded = resolve));
      this.#closed = Promise.race([raw.closed, takenOver]);
      this.#closed.catch(() => {});
      const state: { isUpgraded: boolean; isEnded: boolean } = (this.#end = { isUpgraded: false, isEnded: false });
      const finish = (): void => {
        if (state.isUpgraded || state.isEnded) return;
        state.isEnded = true;
        raw.end();
      };
      this.#readable = deps.streamFromHostBody({
        async read() {
          await opened;
          if (state.isUpgraded) return null;
          const chunk = await raw.read();
          if (chunk === null && !allowHalfOpen) finish();
          return chunk;
        },
        cancel() {
          if (!state.isUpgraded) raw.cancel();
        },
      });
      this.#writable = new WritableStream({
        async write(chunk) {
          await raw.write(toChunk(chunk));
        },
        close: finish,
        abort() {
          if (!state.isUpgraded) raw.destroy();
        },
      });
    }

    get readable(): object {
      return this.#readable;
    }
    get writable(): object {
      return this.#writable;
    }
    get opened(): Promise<object> {
      return this.#opened;
    }
    get closed(): Promise<void> {
      return this.#closed;
    }
    get upgraded(): boolean {
      return this.#end.isUpgraded;
    }
    get secureTransport(): Transport {
      return this.#transport;
    }

    /** Ends both directions, after pending bytes. */
    close(): Promise<void> {
      if (this.#end.isUpgraded) return this.#closed;
      if (!this.#end.isEnded) {
        this.#end.isEnded = true;
        this.#raw.end();
      }
      this.#raw.cancel();
      return this.#closed;
    }

    startTls(options: unknown = {}): Socket {
      if (this.#transport !== 'starttls') throw new TypeError('secureTransport of the socket must be "starttls"');
      if (this.#end.isUpgraded) throw new TypeError('startTls() was called on this socket before');
      if (this.#end.isEnded) throw new TypeError('The socket is closed');
      const { expectedServerHostname } = (options ?? {}) as { expectedServerHostname?: unknown };
      this.#end.isUpgraded = true;
      const name = expectedServerHostname === undefined ? this.#hostname : String(expectedServerHostname);
      const opened = this.#raw.startTls({ servername: name });
      opened.then(this.#upgrade, this.#upgrade);
      return new Socket(internal, this.#raw, name, 'on', this.#allowHalfOpen, opened);
    }
  }
  Object.defineProperty(Socket.prototype, Symbol.toStringTag, { value: 'Socket', configurable: true });

  function at(address: string, port: number): string {
    return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  }

  /** @throws {TypeError} when the address is neither `{hostname, port}` nor `host:port`. */
  function toAddress(address: unknown): { hostname: string; port: number } {
    const [, host, digits] =
      typeof address === 'string' ? (/^(?:[a-z]+:\/\/)?(\[[^\]]+\]|[^:/]+):(\d{1,5})\/?$/i.exec(address) ?? []) : [];
    const given = typeof address === 'object' && address !== null ? (address as Record<string, unknown>) : {};
    const hostname = String(host ?? given['hostname'] ?? '').replace(/^\[(.*)\]$/, '$1');
    const port = Number(digits ?? given['port']);
    if (!HOST_NAME.test(hostname)) throw new TypeError(`The address ${JSON.stringify(address)} has no valid host name`);
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new TypeError(`The address ${JSON.stringify(address)} has no valid port`);
    return { hostname, port };
  }

  function connect(address: unknown, options: unknown = {}): Socket {
    const { hostname, port } = toAddress(address);
    const { secureTransport = 'off', allowHalfOpen = false } = (options ?? {}) as Record<string, unknown>;
    if (secureTransport !== 'off' && secureTransport !== 'on' && secureTransport !== 'starttls')
      throw new TypeError(`secureTransport must be "off", "on" or "starttls", not ${JSON.stringify(secureTransport)}`);
    const raw = new Raw({ hostname, port, secure: secureTransport === 'on' });
    return new Socket(internal, raw, hostname, secureTransport, allowHalfOpen === true, raw.opened);
  }

  const open = (args: OpenArguments): RawSocket => {
    const raw = new Raw({ ...args, ...toAddress(args) });
    return Object.freeze({
      opened: raw.opened,
      closed: raw.closed,
      read: () => raw.read(),
      cancel: () => raw.cancel(),
      write: (bytes: unknown) => raw.write(toChunk(bytes)),
      end: () => raw.end(),
      destroy: () => raw.destroy(),
      startTls: (tls: object) => raw.startTls(tls),
    });
  };
  const addPool = (hostname: string, binding: string): void => {
    pools.set(hostname, binding);
  };
  const tcp = { connect, open, addPool };
  deps.provideModule('tcp', tcp);
  return tcp;
}
