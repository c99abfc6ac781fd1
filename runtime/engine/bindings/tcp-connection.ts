// One TCP connection of a worker: bytes in both directions with back-pressure, an upgrade to TLS, and its end. Made by
// tcp.ts.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { CallOwner } from '../bridge/call-owner.ts';
import type { GuestStream, HostCall } from '../bridge/host-calls.ts';
import type { Hold } from '../bridge/host-memory.ts';

/** The underlying stream: a socket, or a session of a pool. Emits `connect`. */
export type Wire = Duplex &
  Pick<Socket, 'remoteAddress' | 'remotePort' | 'remoteFamily' | 'localAddress' | 'localPort'> & {
    setTimeout(ms: number, onTimeout?: () => void): unknown;
  };

/** Dependencies of a connection. */
interface Opening {
  /** Id of the stream from the guest. */
  readonly out: number;
  /** The name that a certificate must have. */
  readonly name: string;
  /** Target of the connection, for error messages. */
  readonly target: string;
  readonly open: () => Wire;
  /**
   * Whether TLS can be started; false for a connection to a pool, which itself encrypts the data that it sends to the
   * server.
   */
  readonly mayStartTls: boolean;
}

/** What the guest learns about an open connection. */
export interface Opened {
  /** Id of the stream into the guest. */
  readonly stream: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly remoteFamily: string;
  readonly localAddress: string;
  readonly localPort: number;
  /** With TLS. */
  readonly alpn?: string | false;
  readonly protocol?: string | null;
  readonly certificate?: object | null;
  /** Why the certificate was not valid, for a worker that accepts all certificates. */
  readonly authorizationError?: string | null;
}

/** How a connection ended. */
interface Ending {
  readonly failure: { readonly code: string; readonly message: string } | null;
}

const CONNECT_MS = 30_000;
/** Memory for the buffers of both directions. */
const CONNECTION_BYTES = 320 * 1024;
/**
 * Maximum number of waiting bytes from the guest: a window, and the piece that used it up. Only a manipulated guest
 * sends more.
 */
const WAITING_BYTES_MAX = 1024 * 1024;
/** CPU of a handshake, and of encryption. */
const HANDSHAKE_MS = 1;
const ENCRYPTED_BYTES_PER_MS = 1_000_000;

export class TcpConnection {
  readonly host: string;
  readonly plainSocket: Wire;
  readonly closed: Promise<Ending>;
  #socket: Wire | TLSSocket;
  #owner: CallOwner;
  #hold: Hold;
  #from: { drained(): void };
  #toGuest: GuestStream | null = null;
  /** Number of bytes that arrived from the guest. */
  #received = 0;
  /** Chunks that arrived from the guest before the connection was open. */
  #early: Uint8Array[] | null = [];
  #earlyBytes = 0;
  #endsEarly = false;
  #error: NodeJS.ErrnoException | null = null;
  #isReaderGone = false;
  #isTls = false;
  #mayStartTls: boolean;
  /** Called when more bytes have arrived from the guest. */
  #onReceived: (() => void) | null = null;

  /**
   * Starts to connect, and receives the guest's stream `out`, whose first chunk may come at any time.
   *
   * @throws {PlatformError} `host_memory_exceeded`.
   */
  constructor(call: HostCall, { out, name, target, open, mayStartTls }: Opening) {
    this.host = name;
    this.#mayStartTls = mayStartTls;
    this.#owner = call.owner;
    this.#hold = call.isolate.memory.hold(CONNECTION_BYTES, 'A socket');
    this.#from = call.isolate.receiveStream(out, {
      write: (chunk) => this.#take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
      end: () => this.#endWriting(),
      destroy: () => this.close(),
    });
    const socket = (this.plainSocket = this.#socket = open());
    socket.setTimeout(CONNECT_MS, () => {
      socket.destroy(Object.assign(new Error(`connect ETIMEDOUT ${target}`), { code: 'ETIMEDOUT' }));
    });
    socket.once('connect', () => socket.setTimeout(0));
    socket.on('error', (error) => void (this.#error ??= error));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#hold.release();
        this.#onReceived?.();
        const error = this.#error;
        resolve({ failure: error === null ? null : failureOf(error) });
      });
    });
  }

  /** Waits for the connection, and for TLS if there are options. */
  async open(tls: ConnectionOptions | null, call: HostCall): Promise<Opened> {
    const onAbort = (): void => this.close();
    call.signal.addEventListener('abort', onAbort);
    try {
      await this.#event(this.plainSocket, 'connect');
      if (tls !== null) await this.#handshake(tls);
      const opened = this.#opened(call);
      this.#flushEarly();
      return opened;
    } finally {
      call.signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Continues with TLS after the bytes that the guest has sent so far. The stream of incoming bytes ends, and another
   * one begins.
   *
   * @param sent how many bytes the guest has sent. The guest sends no bytes until the reply.
   */
  async startTls(sent: number, options: ConnectionOptions, call: HostCall): Promise<Opened> {
    if (!this.#mayStartTls)
      throw failed('EPROTO', 'Connections to a pool do not use TLS: the pool encrypts its own connections');
    if (this.#isTls || this.#early !== null) throw failed('EPROTO', 'TLS has already started on this socket');
    this.#isTls = true;
    while (this.#received < sent) {
      if (this.#socket.destroyed) throw this.#lost();
      await new Promise<void>((resolve) => (this.#onReceived = resolve));
    }
    this.#onReceived = null;
    this.#early = [];
    if (this.#received > sent) this.#fail(failed('EPROTO', 'Bytes were sent while TLS was starting'));
    const { plainSocket } = this;
    plainSocket.pause();
    plainSocket.removeAllListeners('data').removeAllListeners('end');
    const before = this.#toGuest;
    this.#toGuest = null;
    before?.end();
    await new Promise<void>((resolve, reject) => {
      plainSocket.write('', (error) => (error ? reject(this.#error ?? error) : resolve()));
    });
    await this.#handshake(options);
    const opened = this.#opened(call);
    this.#flushEarly();
    return opened;
  }

  async #handshake(options: ConnectionOptions): Promise<void> {
    this.#isTls = true;
    this.#owner.settleCpu(0, HANDSHAKE_MS);
    const { plainSocket } = this;
    let secure: TLSSocket;
    try {
      secure = connectTls({ ...options, socket: plainSocket, allowHalfOpen: true } as ConnectionOptions);
    } catch (error) {
      // Node throws if the certificate or key is not valid.
      this.#fail(error as Error);
      throw error;
    }
    this.#socket = secure;
    secure.on('error', (error) => {
      this.#error ??= error;
      plainSocket.destroy();
    });
    secure.once('close', () => plainSocket.destroy());
    secure.setTimeout(CONNECT_MS, () => this.#fail(failed('ETIMEDOUT', 'The TLS handshake took too long')));
    await this.#event(secure, 'secureConnect');
    secure.setTimeout(0);
  }

  /** @throws the error that ended the connection. */
  #event(socket: Wire | TLSSocket, name: 'connect' | 'secureConnect'): Promise<void> {
    return new Promise((resolve, reject) => {
      if (socket.destroyed) reject(this.#lost());
      socket.once(name, resolve);
      socket.once('close', () => reject(this.#lost()));
      this.plainSocket.once('close', () => reject(this.#lost()));
    });
  }

  #lost(): Error {
    return this.#error ?? failed('ECONNRESET', 'The connection was closed');
  }

  /** Sends received bytes to the guest. */
  #opened(call: HostCall): Opened {
    const socket = this.#socket;
    const stream = call.isolate.openStream({
      resume: () => socket.resume(),
      cancel: () => {
        // Reading continues, because the end of the connection follows the data.
        this.#isReaderGone = true;
        socket.resume();
        this.#closeWhenDone();
      },
    });
    this.#toGuest = stream;
    // The reply names the stream, so it must be sent before the first chunk.
    setImmediate(() => {
      if (this.#toGuest !== stream) return;
      let isOver = false;
      const over = (): void => {
        if (isOver) return;
        isOver = true;
        this.#toGuest = null;
        if (this.#isReaderGone) return;
        const error = this.#error;
        if (error === null) stream.end();
        else stream.break({ ...failureOf(error), name: 'Error' });
      };
      socket.on('data', (chunk: Buffer) => {
        this.#charge(chunk.byteLength);
        if (!this.#isReaderGone && !stream.write(chunk, true)) socket.pause();
      });
      socket.once('end', () => {
        over();
        if (this.#isReaderGone) this.#closeWhenDone();
      });
      this.plainSocket.once('close', over);
      if (socket.destroyed || socket.readableEnded) over();
      else socket.resume();
    });
    const {
      remoteAddress = '',
      remotePort = 0,
      remoteFamily = '',
      localAddress = '',
      localPort = 0,
    } = this.plainSocket;
    const addresses = { stream: stream.id, remoteAddress, remotePort, remoteFamily, localAddress, localPort };
    if (socket === this.plainSocket) return addresses;
    const secure = socket as TLSSocket;
    return {
      ...addresses,
      alpn: secure.alpnProtocol ?? false,
      protocol: secure.getProtocol(),
      certificate: certificateOf(secure),
      authorizationError: secure.authorized ? null : String(secure.authorizationError),
    };
  }

  /** Takes bytes from the guest; returns false if the guest must wait. */
  #take(chunk: Uint8Array): boolean {
    this.#received += chunk.byteLength;
    const early = this.#early;
    if (this.#socket.destroyed) return true;
    if (this.#earlyBytes + this.#socket.writableLength + chunk.byteLength > WAITING_BYTES_MAX) {
      this.#fail(failed('ENOBUFS', 'More bytes were sent than the socket can buffer'));
      return true;
    }
    const isOpen =
      early === null ? this.#write(chunk) : (early.push(chunk), (this.#earlyBytes += chunk.byteLength), false);
    this.#onReceived?.();
    return isOpen;
  }

  #write(chunk: Uint8Array): boolean {
    this.#charge(chunk.byteLength);
    const isOpen = this.#socket.write(chunk);
    if (!isOpen) this.#socket.once('drain', () => this.#from.drained());
    return isOpen;
  }

  #charge(bytes: number): void {
    // A pool parses the messages, and may encrypt them.
    if (this.#isTls || !this.#mayStartTls) this.#owner.settleCpu(0, bytes / ENCRYPTED_BYTES_PER_MS);
  }

  #flushEarly(): void {
    const early = this.#early ?? [];
    this.#early = null;
    this.#earlyBytes = 0;
    let isOpen = true;
    for (const chunk of early) isOpen = this.#write(chunk);
    if (isOpen) this.#from.drained();
    if (this.#endsEarly) this.#endWriting();
  }

  #endWriting(): void {
    if (this.#early !== null) this.#endsEarly = true;
    else this.#socket.end(() => this.#closeWhenDone());
  }

  /** Both directions have ended, so nothing is left to wait for. */
  #closeWhenDone(): void {
    const { writableFinished, readableEnded } = this.#socket;
    if (writableFinished && (this.#isReaderGone || readableEnded)) this.close();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.close();
  }

  /** Also called at the end of the invocation or isolate. */
  close(): void {
    this.#socket.destroy();
    this.plainSocket.destroy();
  }
}

function failed(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function failureOf({ code = 'ECONNRESET', message }: NodeJS.ErrnoException): { code: string; message: string } {
  // If the host has several addresses, the error has one message for each.
  return { code, message: message === '' ? code : message };
}

/** The certificate of the other side, in the format of Node's `getPeerCertificate`; `raw` is base64. */
function certificateOf(secure: TLSSocket): object | null {
  const { subject, issuer, subjectaltname, valid_from, valid_to, fingerprint, fingerprint256, serialNumber, raw } =
    secure.getPeerCertificate();
  if (raw === undefined) return null;
  const names = { subject, issuer, subjectaltname, valid_from, valid_to };
  return { ...names, fingerprint, fingerprint256, serialNumber, raw: raw.toString('base64') };
}
