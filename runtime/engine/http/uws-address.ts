// Client addresses on uWebSockets.js. Reading an address costs a system call and a byte array, so it is read once per
// connection. The library does not say on which connection a request came, but only the port of the client. Used by
// listener-uws.ts, uws-exchange.ts.

const mappedMark = new Uint32Array(new Uint8Array([0, 0, 0xff, 0xff]).buffer)[0];

/** The members of the response object that return the address. */
export interface UwsAddressed {
  /** The address: 4 bytes for IPv4, or 16 bytes for IPv6. */
  getRemoteAddress(): ArrayBuffer;
  /** The address as text, with IPv6 in full notation. */
  getRemoteAddressAsText(): ArrayBuffer;
  getRemotePort(): number;
}

/** The clients of one listener. */
export class ClientAddresses {
  /**
   * The address that all connections so far have in common; null if there were different addresses. Most listeners are
   * behind one proxy.
   */
  #only: string | null | undefined;
  /** By port, the address that all connections so far have in common; null if there were different addresses. */
  readonly #byPort = new Map<number, string | null>();

  /** Called for each new connection. */
  opened(native: UwsAddressed): void {
    const address = read(native);
    // Reading the address fails if the connection is already closed.
    if (address === '') return;
    this.#only = this.#only === undefined || this.#only === address ? address : null;
    const port = native.getRemotePort();
    const before = this.#byPort.get(port);
    if (before !== address) this.#byPort.set(port, before === undefined ? address : null);
  }

  /** The address of a request's client. IPv4-mapped addresses of a dual-stack socket are returned as IPv4. */
  of(native: UwsAddressed): string {
    return this.#only ?? this.#byPort.get(native.getRemotePort()) ?? read(native);
  }
}

function read(native: UwsAddressed): string {
  const bytes = native.getRemoteAddress();
  const words = new Uint32Array(bytes);
  const isMapped = words.length === 4 && words[0] === 0 && words[1] === 0 && words[2] === mappedMark;
  if (words.length !== 1 && !isMapped) return Buffer.from(native.getRemoteAddressAsText()).toString();
  return new Uint8Array(bytes, bytes.byteLength - 4).join('.');
}
