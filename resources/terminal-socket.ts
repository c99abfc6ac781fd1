// A sandbox terminal over a WebSocket, for the route of sandbox-terminals.ts. Binary messages are terminal input and
// output. Text messages are JSON: the client first sends `{"start": {...}}` with the options of `terminal`, then
// `{"resize": [cols, rows]}`, and `{"end": true}` after the last input. The server finally sends `{"exitCode",
// "signal"}`, or `{"error"}` with its code.
import type { Readable } from 'node:stream';
import type { WebSocket } from 'ws';
import { PlatformError } from '#core/errors.ts';
import { toFields, toTerminalSize, type Fields } from '#core/sandbox/arguments.ts';
import { exitIn, TERMINAL_FRAME, terminalFrame, terminalFrames } from '#core/sandbox/terminal-frames.ts';

/** Dependencies of {@link talkToTerminal}. */
interface TerminalSocketDeps {
  /** Opens the terminal; `signal` aborts it. */
  open(args: object, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Readable>;
  /** Code and message of an error for the client. */
  explain(error: unknown): Promise<{ readonly code: string; readonly message: string }>;
}

const START_MS = 10_000;
/** Buffered input after which the client is paused. */
const WAITING_BYTES = 64 * 1024;
const NORMAL = 1000;
const REFUSED = 1008;

/** Copies data in both directions until either side ends. */
export async function talkToTerminal(socket: WebSocket, { open, explain }: TerminalSocketDeps): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const messages = messagesOf(socket);
  try {
    const start = startIn(await messages.next(START_MS));
    const answer = await open(start, framesOf(start, messages, gone), gone.signal);
    let isOver = false;
    for await (const frame of terminalFrames(answer)) {
      if (frame.type === TERMINAL_FRAME.bytes) await send(socket, frame.bytes);
      if (frame.type !== TERMINAL_FRAME.exit) continue;
      const exit = exitIn(frame);
      if (exit === null) break;
      isOver = true;
      await send(socket, JSON.stringify(exit));
    }
    if (!isOver) throw new PlatformError('sandbox_lost', { reason: 'its terminal was interrupted' });
    socket.close(NORMAL);
  } catch (error) {
    if (socket.readyState !== socket.OPEN) return;
    // The reason of the abort is more specific than the error it caused.
    const reason = gone.signal.aborted ? (gone.signal.reason as unknown) : error;
    await send(socket, JSON.stringify({ error: await explain(lostOr(reason)) }));
    socket.close(REFUSED);
  } finally {
    gone.abort();
  }
}

/** Maps errors of a broken stream to `sandbox_lost`. */
function lostOr(error: unknown): unknown {
  const isOfStream = error instanceof Error && !(error instanceof PlatformError) && !('status' in error);
  return isOfStream ? new PlatformError('sandbox_lost', { reason: 'the connection to the sandbox was lost' }) : error;
}

/** Resolves once the message was sent, so that a slow client slows the terminal down. */
function send(socket: WebSocket, data: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(data, (error) => (error === undefined || error === null ? resolve() : reject(error)));
  });
}

interface Message {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

interface Messages {
  /** Returns null after the last message. @throws {PlatformError} if no message arrives in time. */
  next(waitMs?: number): Promise<Message | null>;
}

/** Messages of the socket, with backpressure. */
function messagesOf(socket: WebSocket): Messages {
  const waiting: Message[] = [];
  let bytes = 0;
  let isClosed = false;
  let wake = (): void => {};
  socket.on('message', (data, isBinary) => {
    const message = { bytes: data as Buffer, isBinary };
    waiting.push(message);
    bytes += message.bytes.byteLength;
    if (bytes > WAITING_BYTES) socket.pause();
    wake();
  });
  socket.once('close', () => {
    isClosed = true;
    wake();
  });
  return {
    async next(waitMs) {
      let isLate = false;
      const late = () => {
        isLate = true;
        wake();
      };
      const timer = waitMs === undefined ? undefined : setTimeout(late, waitMs);
      while (waiting.length === 0 && !isClosed && !isLate)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      clearTimeout(timer);
      const message = waiting.shift() ?? null;
      if (message === null && isLate) throw odd('No {"start": {...}} has come');
      bytes -= message?.bytes.byteLength ?? 0;
      if (bytes <= WAITING_BYTES) socket.resume();
      return message;
    },
  };
}

function startIn(message: Message | null): Fields {
  const { start } = message === null ? {} : fieldsIn(message);
  if (start === undefined) throw odd('The first message must be {"start": {...}} with the command, cols and rows');
  const fields = toFields(start);
  // Validated before anything starts.
  toTerminalSize(fields);
  return fields;
}

/** Frames for the sandbox. The first frame is the terminal's size, so that the request is sent immediately. */
async function* framesOf(start: Fields, messages: Messages, gone: AbortController): AsyncGenerator<Uint8Array> {
  try {
    yield terminalFrame(TERMINAL_FRAME.size, toTerminalSize(start));
    for (;;) {
      const message = await messages.next();
      if (message === null) return;
      if (message.isBinary) {
        yield terminalFrame(TERMINAL_FRAME.bytes, message.bytes);
        continue;
      }
      const { resize, end } = fieldsIn(message);
      if (end === true) return;
      if (!Array.isArray(resize) || resize.length !== 2)
        throw odd('A text must be {"resize": [cols, rows]} or {"end": true}');
      yield terminalFrame(
        TERMINAL_FRAME.size,
        toTerminalSize({ cols: resize[0] as unknown, rows: resize[1] as unknown }),
      );
    }
  } catch (error) {
    gone.abort(error);
    throw error;
  }
}

function fieldsIn({ bytes, isBinary }: Message): Fields {
  let value: unknown = null;
  try {
    if (!isBinary) value = JSON.parse(bytes.toString());
  } catch {
    // Reported below.
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw odd('A text must be a JSON object');
  return value as Fields;
}

function odd(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}
