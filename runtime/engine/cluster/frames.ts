// The protocol between two engines: frames of requests and responses, with many exchanges over one Unix socket. This is
// not HTTP: an exchange already consists of flat strings, so nothing is parsed or framed twice, and the output of one
// tick of the event loop is sent in one write. Pure: bytes in, fields out. Input is validated, because a dying engine
// may write anything.
//
// Frame: u32 length of the rest, u8 kind, u32 exchange, then the fields of the kind. Strings: u32 length, UTF-8.

/** Kinds of frames. Frames from the engine that forwards the request: */
export const REQUEST = 1; // f64 bodyBytes, u8 handshake, strings deployment, method, target, host, remoteAddress, headerBlock
export const BODY = 2; // bytes
export const BODY_END = 3;
export const ABORT = 4;
/** Frames from the engine that serves the request: */
export const READ_BODY = 16;
export const WHOLE_TEXT = 17; // u32 status, string requestId, string headerBlock, text
export const WHOLE_BYTES = 18; // u32 status, string requestId, string headerBlock, bytes
export const WHOLE_EMPTY = 19; // u32 status, string requestId, string headerBlock
export const BEGIN = 20; // u32 status, string requestId, string headerBlock
export const CHUNK = 21; // bytes
export const END = 22;
export const CUT = 23;
/** The other engine does not know the deployment yet. The request had no effect, so it is served locally. */
export const UNKNOWN = 24;
/** From now on, the exchange is a WebSocket. */
export const UPGRADE = 25; // string headerBlock
/** Frames of a WebSocket in both directions: the last piece of a message, an earlier piece, and the end. */
export const SOCKET_TEXT = 40; // bytes
export const SOCKET_BYTES = 41; // bytes
export const SOCKET_PIECE = 42; // bytes
export const SOCKET_CLOSE = 43; // u32 code, string reason
/** Reports in both directions how many bytes of the other side's stream were received. */
export const CREDIT = 32; // u32 bytes

const HEAD_BYTES = 9;
/** Maximum length of a frame, enough for a block of headers and a whole body. */
export const FRAME_BYTES_MAX = 2 * 1024 * 1024;
/** How many unacknowledged bytes of one stream may be sent before the sender waits. */
export const WINDOW_BYTES = 256 * 1024;
/** Maximum length of a body in one frame; longer bodies are streamed. */
export const WHOLE_BYTES_MAX = 64 * 1024;

const BATCH_BYTES = 64 * 1024;
/** Larger arrays are written to the socket directly, not copied into the batch. */
const COPIED_BYTES_MAX = 8 * 1024;

/** Collects frames until `take`. */
export class FrameWriter {
  #batch = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #from = 0;
  #at = 0;
  #done: Uint8Array[] = [];
  #frame = 0;

  /** Begins a frame; `room` is the minimum number of bytes that follow before `end`. */
  begin(kind: number, exchange: number, room = 0): void {
    this.#reserve(HEAD_BYTES + room);
    this.#frame = this.#at;
    this.#batch[this.#at + 4] = kind;
    this.#batch.writeUInt32LE(exchange, this.#at + 5);
    this.#at += HEAD_BYTES;
  }

  number(value: number): void {
    this.#batch.writeUInt32LE(value, this.#at);
    this.#at += 4;
  }

  float(value: number): void {
    this.#batch.writeDoubleLE(value, this.#at);
    this.#at += 8;
  }

  /** `room` contains space for three bytes per character of the text. */
  string(value: string): void {
    const bytes = this.#batch.write(value, this.#at + 4);
    this.#batch.writeUInt32LE(bytes, this.#at);
    this.#at += 4 + bytes;
  }

  /** Returns its bytes. */
  text(value: string): number {
    const bytes = this.#batch.write(value, this.#at);
    this.#at += bytes;
    return bytes;
  }

  /** Ends a frame; `bytes` are its last part. */
  end(bytes: Uint8Array | null = null): void {
    const extra = bytes === null ? 0 : bytes.byteLength;
    this.#batch.writeUInt32LE(this.#at - this.#frame - 4 + extra, this.#frame);
    if (bytes === null) return;
    if (extra <= COPIED_BYTES_MAX && this.#at + extra <= this.#batch.length) {
      this.#batch.set(bytes, this.#at);
      this.#at += extra;
      return;
    }
    this.#cut();
    this.#done.push(bytes);
  }

  /** Returns the pending output in order; the writer is empty afterwards. */
  take(): Uint8Array[] {
    this.#cut();
    const done = this.#done;
    this.#done = [];
    return done;
  }

  #cut(): void {
    if (this.#at > this.#from) this.#done.push(this.#batch.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }

  // The socket may still use the memory of the taken output, so it is not overwritten.
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#batch.length) return;
    this.#cut();
    this.#batch = Buffer.allocUnsafeSlow(Math.max(BATCH_BYTES, bytes));
    this.#from = 0;
    this.#at = 0;
  }
}

/** Reads the fields of one frame. @throws if the frame is malformed. */
export class FrameReader {
  kind = 0;
  exchange = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #rest: Buffer | null = null;

  /** Passes each complete frame to `onFrame`; keeps the rest. @throws {Error} on an impossible frame. */
  push(bytes: Buffer, onFrame: (frame: FrameReader) => void): void {
    const input = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = null;
    let at = 0;
    while (input.length - at >= 4) {
      const length = input.readUInt32LE(at);
      if (length < HEAD_BYTES - 4 || length > FRAME_BYTES_MAX)
        throw new Error(`frame length out of bounds: ${length} bytes`);
      if (input.length - at < 4 + length) break;
      this.#bytes = input;
      this.kind = input[at + 4] as number;
      this.exchange = input.readUInt32LE(at + 5);
      this.#at = at + HEAD_BYTES;
      this.#end = at + 4 + length;
      at = this.#end;
      onFrame(this);
    }
    if (at < input.length) this.#rest = at === 0 ? input : input.subarray(at);
  }

  number(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  float(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  string(): string {
    const length = this.number();
    const at = this.#take(length);
    return this.#bytes.toString('utf8', at, at + length);
  }

  /** The rest of the frame as text. */
  text(): string {
    const at = this.#take(this.#end - this.#at);
    return this.#bytes.toString('utf8', at, this.#end);
  }

  /** The rest of the frame, as a view. */
  bytes(): Buffer {
    const at = this.#take(this.#end - this.#at);
    return this.#bytes.subarray(at, this.#end);
  }

  #take(length: number): number {
    const at = this.#at;
    if (at + length > this.#end) throw new Error('frame truncated');
    this.#at = at + length;
    return at;
  }
}
