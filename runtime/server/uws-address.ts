// Addresses of clients as uWebSockets.js gives them: bytes for each request, whose text a listener remembers. Used by uws-exchange.ts.

/** Addresses that are remembered; clients beyond cost a microsecond. */
const rememberedMax = 1000;
const mappedMark = new Uint32Array(new Uint8Array([0, 0, 0xff, 0xff]).buffer)[0];

/** The response object's part that knows. */
export interface UwsAddressed {
  /** 4 bytes of IPv4, or 16 of IPv6. */ getRemoteAddress(): ArrayBuffer;
  /** IPv6 in full. */ getRemoteAddressAsText(): ArrayBuffer;
}

/** The clients of one listener. */
export class ClientAddresses {
  readonly #ipv4 = new Map<number, string>();

  /** Address of a request's client; IPv4 as such also where a dual-stack socket has it mapped. */
  of(native: UwsAddressed): string {
    const bytes = native.getRemoteAddress();
    const words = new Uint32Array(bytes);
    const isMapped = words.length === 4 && words[0] === 0 && words[1] === 0 && words[2] === mappedMark;
    if (words.length !== 1 && !isMapped) return Buffer.from(native.getRemoteAddressAsText()).toString();
    const word = words[words.length - 1]!;
    let text = this.#ipv4.get(word);
    if (text === undefined) {
      if (this.#ipv4.size === rememberedMax) this.#ipv4.clear();
      text = new Uint8Array(bytes, bytes.byteLength - 4).join('.');
      this.#ipv4.set(word, text);
    }
    return text;
  }
}
