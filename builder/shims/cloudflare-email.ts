// `cloudflare:email`: the class of messages that a worker sends or replies with. Bundled by cloudflare-modules.ts. This
// platform has no binding that sends email. The properties of a message are public, as a binding that sends email would
// expect.

/** A message with its envelope; `raw` is its text in RFC 5322 format, or a stream of it. */
export class EmailMessage {
  readonly from: string;
  readonly to: string;
  readonly raw: string | ReadableStream<Uint8Array>;

  constructor(from: string, to: string, raw: string | ReadableStream<Uint8Array>) {
    if (typeof from !== 'string' || typeof to !== 'string')
      throw new TypeError('EmailMessage needs the addresses from and to as text');
    if (typeof raw !== 'string' && typeof (raw as ReadableStream | null)?.getReader !== 'function')
      throw new TypeError('The third argument of EmailMessage must be the message as text or as a ReadableStream');
    this.from = from;
    this.to = to;
    this.raw = raw;
  }
}
