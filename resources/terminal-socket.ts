// A terminal of a sandbox over a WebSocket, for the route of sandboxes.ts. Binary messages are bytes, typed and
// printed. Texts are JSON: first `{"start": {...}}` with what `terminal` takes, then `{"resize": [cols, rows]}`, and
// `{"end": true}` where no more is typed; from here at last `{"exitCode", "signal"}`, or `{"error"}` with its code.
import type { Readable } from 'node:stream';
import type { WebSocket } from 'ws';
import { PlatformError } from '#core/errors.ts';
import { toFields, toTerminalSize, type Fields } from '#core/sandbox/arguments.ts';
import { exitIn, TERMINAL_FRAME, terminalFrame, terminalFrames } from '#core/sandbox/terminal-frames.ts';

/** What it takes. */
interface TerminalSocketParts {
  /** Asks for the terminal; `signal` ends it. */
  open(args: object, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Readable>;
  /** What is said of a failure. */
  explain(error: unknown): Promise<{ readonly code: string; readonly message: string }>;
}

const START_MS = 10_000;
/** What waits of what is typed, before the other side is asked to wait. */
const WAITING_BYTES = 64 * 1024;
const NORMAL = 1000;
const REFUSED = 1008;

/** Passes between both until either ends. */
export async function talkToTerminal(socket: WebSocket, { open, explain }: TerminalSocketParts): Promise<void> {
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
    if (!isOver) throw new PlatformError('sandbox_lost', { reason: 'its terminal broke off' });
    socket.close(NORMAL);
  } catch (error) {
    if (socket.readyState !== socket.OPEN) return;
    // What it was ended for says more than that it ended.
    const reason = gone.signal.aborted ? (gone.signal.reason as unknown) : error;
    await send(socket, JSON.stringify({ error: await explain(lostOr(reason)) }));
    socket.close(REFUSED);
  } finally {
    gone.abort();
  }
}

/** A stream that breaks says so in words of its own. */
function lostOr(error: unknown): unknown {
  const isOfStream = error instanceof Error && !(error instanceof PlatformError) && !('status' in error);
  return isOfStream ? new PlatformError('sandbox_lost', { reason: 'the connection to it broke' }) : error;
}

/** Resolves once it is on its way: whoever does not read makes the terminal wait. */
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
  /** Null: there are no more. @throws {PlatformError} where none comes in time. */
  next(waitMs?: number): Promise<Message | null>;
}

/** What comes, held back while it is not taken. */
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
  if (start === undefined) throw odd('The first message must be {"start": {...}} with what runs, and cols and rows');
  const fields = toFields(start);
  // Before anything is started.
  toTerminalSize(fields);
  return fields;
}

/** What the sandbox gets: a size at first, so that the request is on its way. */
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
    // As below.
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw odd('A text must be a JSON object');
  return value as Fields;
}

function odd(reason: string): PlatformError {
  return new PlatformError('invalid_argument', { reason });
}
