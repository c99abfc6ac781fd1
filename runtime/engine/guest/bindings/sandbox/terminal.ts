// A terminal in a sandbox as two streams: writes and reads frames of the operation `terminal`
// (core/sandbox/terminal-frames.ts in the repository), with back-pressure both ways.
import type { ReadableStream, WritableStream } from 'web-streams-polyfill';
import { loader } from '../../modules.ts';
import { AbortController, type AbortSignal } from '../../web/abort.ts';
import { isUnsharedBufferSource, TextDecoder, toBytes } from '../../web/text.ts';
import { encodeUtf8 } from '../../web/utf8.ts';
import { LOST, SandboxError, toSandboxError } from './errors.ts';

/** As in packages/types/sandbox.d.ts. */
export interface Terminal {
  readonly readable: object;
  readonly writable: object;
  resize(cols: unknown, rows: unknown): Promise<void>;
  readonly exited: Promise<TerminalExit>;
  close(): void;
}

interface TerminalExit {
  readonly exitCode: number;
  readonly signal?: string;
}

interface Answer {
  readonly body: unknown;
}

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
}

interface Given {
  readonly cols: unknown;
  readonly rows: unknown;
  /** A signal of the worker that ends the terminal. */
  readonly signal: AbortSignal | null;
  /** Sends the operation to the service. */
  send(body: object, signal: object): Promise<Answer>;
}

interface StreamClasses {
  readonly ReadableStream: typeof ReadableStream;
  readonly WritableStream: typeof WritableStream;
}

const FRAME = { bytes: 0, size: 1, exit: 3 };
const HEAD_BYTES = 5;
const SIDE_MAX = 1000;
/** How many bytes are read ahead of the consumer, so that a short output does not delay the exit status. */
const AHEAD_BYTES = 64 * 1024;
/** Exit status of a closed terminal, as in a shell. */
const HUNG_UP = { exitCode: 129, signal: 'SIGHUP' };

export async function openTerminal(given: Given): Promise<Terminal> {
  const { ReadableStream, WritableStream } = loader.load('streams') as StreamClasses;
  const { signal, send } = given;

  function frame(type: number, bytes: Uint8Array): Uint8Array {
    const made = new Uint8Array(HEAD_BYTES + bytes.byteLength);
    const length = bytes.byteLength;
    made.set([type, length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255]);
    made.set(bytes, HEAD_BYTES);
    return made;
  }

  function sizeFrame(cols: unknown, rows: unknown): Uint8Array {
    for (const [name, side] of [
      ['cols', cols],
      ['rows', rows],
    ])
      if (!Number.isInteger(side) || (side as number) < 1 || (side as number) > SIDE_MAX)
        throw new SandboxError('invalid_argument', `${String(name)} must be a whole number from 1 to ${SIDE_MAX}`);
    return frame(FRAME.size, encodeUtf8(JSON.stringify({ cols, rows })));
  }

  function typedFrame(chunk: unknown): Uint8Array {
    if (typeof chunk === 'string') return frame(FRAME.bytes, encodeUtf8(chunk));
    if (isUnsharedBufferSource(chunk)) return frame(FRAME.bytes, toBytes(chunk, 'What is typed'));
    throw new SandboxError('invalid_argument', 'Terminal input must be strings or bytes');
  }

  const ended = new AbortController();
  let isOver = false;
  const stop = (): void => ended.abort(signal!.reason);
  if (signal?.aborted) throw signal.reason;

  // The outgoing frames. A new size is sent before typed input, and only the last size is sent.
  let newSize: Uint8Array | null = sizeFrame(given.cols, given.rows);
  let wanted = (): void => {};
  let sender: { enqueue(chunk: Uint8Array): void; close(): void; error(reason: unknown): void };
  let isPulled = false;
  let isInputOver = false;
  const body = new ReadableStream(
    {
      start(controller: never) {
        sender = controller;
      },
      pull() {
        isPulled = true;
        if (newSize === null) return wanted();
        sender.enqueue(newSize);
        newSize = null;
        isPulled = false;
      },
      cancel: over,
    } as never,
    { highWaterMark: 0 } as never,
  );
  function over(): void {
    isOver = true;
    wanted();
  }
  async function type(bytes: Uint8Array): Promise<void> {
    while (!isPulled && !isOver)
      await new Promise<void>((resolve) => {
        wanted = resolve;
      });
    if (isOver) throw new SandboxError('sandbox_lost', 'The terminal has ended');
    isPulled = false;
    sender.enqueue(bytes);
  }

  const answer = await openWith(signal, stop, () => send(body, ended.signal));
  const reader = (answer.body as { getReader(): Reader }).getReader();
  let settle!: { resolve(exit: TerminalExit): void; reject(reason: unknown): void };
  const exited = new Promise<TerminalExit>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Rejections are ignored, because callers do not have to await this call.
  exited.catch(() => {});

  function finish(how: { exit: TerminalExit } | { failure: unknown }): void {
    signal?.removeEventListener('abort', stop);
    if ('exit' in how) settle.resolve(how.exit);
    else settle.reject(how.failure);
    over();
  }
  function close(): void {
    if (isOver) return;
    finish({ exit: HUNG_UP });
    ended.abort();
  }

  // The incoming frames. Printed bytes are passed on as they arrive.
  let head: number[] = [];
  let left = 0;
  let text = '';
  let rest: Uint8Array = new Uint8Array(0);
  const decoder = new TextDecoder();
  const readable = new ReadableStream(
    {
      async pull(controller: { enqueue(chunk: Uint8Array): void; close(): void; error(reason: unknown): void }) {
        try {
          for (;;) {
            if (rest.byteLength === 0) {
              const { done, value } = await reader.read();
              if (done) throw new SandboxError('sandbox_lost', LOST);
              rest = value!;
            }
            while (rest.byteLength > 0 && head.length < HEAD_BYTES) {
              head.push(rest[0]!);
              rest = rest.subarray(1);
              if (head.length === HEAD_BYTES) left = ((head[1]! * 256 + head[2]!) * 256 + head[3]!) * 256 + head[4]!;
            }
            if (head.length < HEAD_BYTES) continue;
            const bytes = rest.subarray(0, left);
            rest = rest.subarray(bytes.byteLength);
            left -= bytes.byteLength;
            const [kind] = head;
            if (kind !== FRAME.bytes) text += decoder.decode(bytes, { stream: true });
            if (left === 0) head = [];
            if (kind === FRAME.bytes && bytes.byteLength > 0) return controller.enqueue(bytes.slice());
            if (left > 0) continue;
            if (kind === FRAME.exit) {
              finish({ exit: JSON.parse(text) as TerminalExit });
              return controller.close();
            }
            text = '';
          }
        } catch (error) {
          if (isOver && !signal?.aborted) return controller.close();
          const failure = signal?.aborted ? signal.reason : toSandboxError(error, 'sandbox_lost', LOST);
          finish({ failure });
          controller.error(failure);
        }
      },
      cancel: close,
    } as never,
    { highWaterMark: AHEAD_BYTES, size: (chunk: Uint8Array) => chunk.byteLength } as never,
  );
  const writable = new WritableStream({
    write: (chunk: unknown) => type(typedFrame(chunk)),
    close() {
      isInputOver = true;
      if (!isOver) sender.close();
    },
    abort: close,
  } as never);

  return {
    readable,
    writable,
    async resize(cols, rows) {
      const made = sizeFrame(cols, rows);
      if (isOver || isInputOver) return;
      if (!isPulled) {
        newSize = made;
        return;
      }
      isPulled = false;
      sender.enqueue(made);
    },
    exited,
    close,
  };
}

/** Before the terminal is open, `stop` ends the call; afterwards, it ends the terminal. */
async function openWith(signal: AbortSignal | null, stop: () => void, send: () => Promise<Answer>): Promise<Answer> {
  signal?.addEventListener('abort', stop);
  try {
    return await send();
  } catch (error) {
    signal?.removeEventListener('abort', stop);
    throw error;
  }
}
