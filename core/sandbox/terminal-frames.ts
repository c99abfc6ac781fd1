// Protocol of a sandbox's terminal (the operation `terminal`), both ways: frames of a type, a length and bytes. Frames
// to the agent contain typed bytes and sizes; frames from the agent contain printed bytes and the exit. Parsed here for
// the agent, the service's log and the API; the guest has its own parser. Neither side trusts the other: a malformed
// frame ends the terminal.
import { PlatformError } from '../errors.ts';

/** The first byte of a frame. The length follows, 4 bytes big-endian, then the bytes. */
export const TERMINAL_FRAME = {
  /** Frame with typed or printed bytes. */
  bytes: 0,
  /**
   * Frame to the agent with the size of the terminal as JSON, `{cols, rows}`. A caller sends this frame first, because
   * its request is sent only with the first frame.
   */
  size: 1,
  /** The first frame from the agent, which is empty. */
  started: 2,
  /** The last frame from the agent, with JSON: `{exitCode, signal}`. */
  exit: 3,
} as const;
type TerminalFrameType = (typeof TERMINAL_FRAME)[keyof typeof TERMINAL_FRAME];

/** A received frame. A frame with bytes may arrive in parts of any length. */
interface TerminalFrame {
  readonly type: TerminalFrameType;
  readonly bytes: Uint8Array;
}

/** Exit of a program in a terminal: 128 plus the signal's number if a signal ended it. */
export interface TerminalExit {
  readonly exitCode: number;
  readonly signal?: string;
}

const HEAD_BYTES = 5;
/** Limit of a frame with JSON. */
const TEXT_BYTES_MAX = 1024;

export function terminalFrame(type: TerminalFrameType, content: Uint8Array | object | null = null): Buffer {
  const bytes =
    content === null
      ? Buffer.alloc(0)
      : content instanceof Uint8Array
        ? content
        : Buffer.from(JSON.stringify(content), 'utf8');
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.byteLength);
  frame[0] = type;
  frame.writeUInt32BE(bytes.byteLength, 1);
  frame.set(bytes, HEAD_BYTES);
  return frame;
}

/** @throws {PlatformError} `invalid_argument` for a malformed frame, and for an incomplete frame at the end. */
export async function* terminalFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TerminalFrame> {
  let head = Buffer.alloc(0);
  let text = Buffer.alloc(0);
  let left = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength;) {
      if (head.byteLength < HEAD_BYTES) {
        const more = chunk.subarray(at, at + HEAD_BYTES - head.byteLength);
        head = Buffer.concat([head, more]);
        at += more.byteLength;
        if (head.byteLength < HEAD_BYTES) break;
        left = head.readUInt32BE(1);
        if (head[0]! > TERMINAL_FRAME.exit || (head[0] !== TERMINAL_FRAME.bytes && left > TEXT_BYTES_MAX)) throw odd();
      }
      const type = head[0] as TerminalFrameType;
      const bytes = chunk.subarray(at, at + left);
      at += bytes.byteLength;
      left -= bytes.byteLength;
      if (type === TERMINAL_FRAME.bytes) {
        if (bytes.byteLength > 0) yield { type, bytes };
      } else {
        text = Buffer.concat([text, bytes]);
        if (left === 0) yield { type, bytes: text };
      }
      if (left > 0) continue;
      head = Buffer.alloc(0);
      text = Buffer.alloc(0);
    }
  }
  if (head.byteLength > 0) throw odd();
}

/** The JSON of a frame; null if it is not valid. */
export function frameFields({ bytes }: TerminalFrame): Readonly<Record<string, unknown>> | null {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown;
    return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

/** An agent's exit message; null if it is not valid. */
export function exitIn(frame: TerminalFrame): TerminalExit | null {
  const { exitCode, signal } = frameFields(frame) ?? {};
  if (typeof exitCode !== 'number' || !Number.isInteger(exitCode) || exitCode < 0 || exitCode > 255) return null;
  return typeof signal === 'string' && /^SIG[A-Z0-9]{2,10}$/.test(signal) ? { exitCode, signal } : { exitCode };
}

function odd(): PlatformError {
  return new PlatformError('invalid_argument', { reason: 'A terminal received a malformed frame' });
}
