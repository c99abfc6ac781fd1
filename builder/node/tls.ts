// node:tls: TLS clients over the sockets of workers; the host does the handshake and checks certificates. No servers.
// Bundled into workers by node-compat.ts.
import { Buffer } from './buffer.ts';
import { connectArguments, openRaw, Socket, type ConnectOptions, type Opened } from './net.ts';

type Listener = (...args: never[]) => void;
type Pem = string | Uint8Array | readonly (string | Uint8Array | { readonly pem: string | Uint8Array })[];

/** Options of TLS that have an effect in a worker. */
interface TlsOptions extends ConnectOptions {
  readonly socket?: unknown;
  readonly servername?: string;
  readonly ca?: Pem;
  readonly cert?: Pem;
  readonly key?: Pem;
  readonly passphrase?: string;
  readonly rejectUnauthorized?: boolean;
  readonly ALPNProtocols?: readonly string[];
  readonly minVersion?: string;
  readonly maxVersion?: string;
  readonly secureContext?: SecureContext;
  readonly checkServerIdentity?: (host: string, certificate: object) => Error | undefined;
}

/** Certificates and keys, kept for a connection. */
export class SecureContext {
  readonly context: TlsOptions;

  constructor(options: TlsOptions = {}) {
    this.context = options;
  }
}

export const createSecureContext = (options?: TlsOptions): SecureContext => new SecureContext(options);

function toTexts(pem: Pem | undefined): string[] | undefined {
  if (pem === undefined || pem === null) return undefined;
  const list = typeof pem === 'string' || pem instanceof Uint8Array ? [pem] : pem;
  return list.map((one) => {
    const text = typeof one === 'object' && 'pem' in one ? one.pem : one;
    return typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
  });
}

/** The options that the host gets. */
function hostOptions({ secureContext, ...own }: TlsOptions, servername: string | undefined): object {
  const options = { ...secureContext?.context, ...own };
  const version = (name: string | undefined): string | undefined =>
    name === 'TLSv1' || name === 'TLSv1.1' ? undefined : name;
  const given = {
    servername,
    ca: toTexts(options.ca),
    cert: toTexts(options.cert),
    key: toTexts(options.key),
    passphrase: options.passphrase,
    rejectUnauthorized: options.rejectUnauthorized !== false,
    anyName: options.checkServerIdentity !== undefined && options.checkServerIdentity !== checkServerIdentity,
    alpn: options.ALPNProtocols?.map(String),
    minVersion: version(options.minVersion),
    maxVersion: version(options.maxVersion),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** A TLS client with its own connection, or over a connected socket. */
export class TLSSocket extends Socket {
  readonly encrypted = true;
  authorized = false;
  authorizationError: string | null = null;
  alpnProtocol: string | false = false;
  servername: string | undefined;
  #protocol: string | null = null;
  #certificate: Record<string, unknown> | null = null;
  readonly #check: TlsOptions['checkServerIdentity'];

  constructor(socket?: unknown, options: TlsOptions = {}) {
    super(options);
    this.#check = options.checkServerIdentity;
    if (socket !== undefined && socket !== null) this.#over(socket, options);
  }

  #over(socket: unknown, options: TlsOptions): void {
    if (!(socket instanceof Socket)) throw new TypeError('TLS needs a socket of node:net in a worker');
    const host = options.servername || options.host || socket._host || 'localhost';
    this._host = host;
    this.servername = host;
    const begin = (): void => {
      if (this.destroyed) return;
      const raw = socket._take(this);
      this._use(raw, { host, port: socket.remotePort ?? 0 }, raw.startTls(hostOptions(options, host)));
    };
    socket.once('error', ((error: Error) => this.destroy(error)) as Listener);
    if (socket.connecting || socket.pending) socket.once('connect', begin);
    else begin();
    this.connecting = true;
  }

  /** @internal */
  _connectTls(options: TlsOptions): this {
    const { host = 'localhost', port } = options;
    if (options.timeout !== undefined) this.setTimeout(options.timeout);
    this._host = host;
    this.servername = options.servername || host;
    const tls = hostOptions(options, this.servername);
    this._use(openRaw({ hostname: host, port: Number(port), secure: true, tls }), { host, port: Number(port) });
    return this;
  }

  override _opened({ alpn, protocol, certificate, authorizationError }: Opened): void {
    this.authorizationError = authorizationError ?? null;
    this.authorized = this.authorizationError === null;
    this.alpnProtocol = alpn ?? false;
    this.#protocol = protocol ?? null;
    this.#certificate = certificate ?? null;
    const { raw } = this.#certificate ?? {};
    if (typeof raw === 'string') this.#certificate = { ...this.#certificate, raw: Buffer.from(raw, 'base64') };
    const wrong = this.authorized ? this.#check?.(this._host ?? '', this.#certificate ?? {}) : undefined;
    if (wrong) this.destroy(wrong);
  }

  override _connected(): void {
    this.emit('secure');
    this.emit('secureConnect');
  }

  getPeerCertificate(): object {
    return this.#certificate ?? {};
  }
  getProtocol(): string | null {
    return this.#protocol;
  }
  getCipher(): object {
    return { name: '', standardName: '', version: this.#protocol ?? '' };
  }
  getSession(): undefined {}
  isSessionReused(): false {
    return false;
  }
  setServername(name: string): void {
    this.servername = name;
  }
  disableRenegotiation(): void {}
}

/** Opens a connection with TLS, or continues the connection of `socket` with TLS. */
export function connect(...given: unknown[]): TLSSocket {
  const [base, listener] = connectArguments(given);
  // Parses the arguments `(port, host, options)` and `(port, options)`.
  const more = given.slice(1).find((one) => typeof one === 'object' && one !== null) as object | undefined;
  const options = { ...base, ...more } as TlsOptions;
  const socket = new TLSSocket(options.socket, options);
  if (listener !== undefined) socket.once('secureConnect', listener);
  return options.socket === undefined || options.socket === null ? socket._connectTls(options) : socket;
}

/** Whether a certificate names a host; undefined if it does. */
export function checkServerIdentity(
  host: string,
  certificate: { readonly subjectaltname?: string },
): Error | undefined {
  const names = (certificate.subjectaltname ?? '').split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, ''));
  const wanted = host.toLowerCase().replace(/\.$/, '');
  const matches = names.some((name) => {
    const known = name.toLowerCase();
    return known.startsWith('*.') ? wanted.slice(wanted.indexOf('.') + 1) === known.slice(2) : known === wanted;
  });
  if (matches) return undefined;
  return Object.assign(new Error(`Hostname/IP does not match certificate's altnames: ${host}`), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    host,
    cert: certificate,
  });
}

/** Empty, because the host checks certificates with its own root certificates. */
export const rootCertificates: readonly string[] = Object.freeze([]);
export const getCiphers = (): string[] => [];
export const DEFAULT_MIN_VERSION = 'TLSv1.2';
export const DEFAULT_MAX_VERSION = 'TLSv1.3';
export const DEFAULT_ECDH_CURVE = 'auto';
export const DEFAULT_CIPHERS = '';
