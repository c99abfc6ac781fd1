// Client addresses on uWebSockets.js. Reading an address costs a system call and a byte array, so it is read once per
// connection. The library does not tell which connection a request came on, only its port. Used by listener-uws.ts,
// uws-exchange.ts.

const mappedMark = new Uint32Array(new Uint8Array([0, 0, 0xff, 0xff]).buffer)[0];

/** The part of the response object with the address. */
export interface UwsAddressed {
  /** 4 bytes of IPv4, or 16 of IPv6. */
  getRemoteAddress(): ArrayBuffer;
  /** IPv6 in full notation. */
  getRemoteAddressAsText(): ArrayBuffer;
  getRemotePort(): number;
}

/** The clients of one listener. */
export class ClientAddresses {
  /**
   * The address of all connections so far; null after several different addresses. Most listeners are behind one proxy.
   */
  #only: string | null | undefined;
  /** By port: the address of all connections from it so far; null after several different addresses. */
  readonly #byPort = new Map<number, string | null>();

  /** Called for each new connection. */
  opened(native: UwsAddressed): void {
    const address = read(native);
    // The connection is already closed.
    if (address === '') return;
    this.#only = this.#only === undefined || this.#only === address ? address : null;
    const port = native.getRemotePort();
    const before = this.#byPort.get(port);
    if (before !== address) this.#byPort.set(port, before === undefined ? address : null);
  }

  /** Address of a request's client; IPv4-mapped addresses of a dual-stack socket as IPv4. */
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
