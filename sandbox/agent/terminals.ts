// `terminal`: a program on a pseudo-terminal. Input and output have one buffer each; a slow reader blocks the program.
// When the caller disconnects, the terminal hangs up, and shortly afterwards everything it started is killed. Our
// program (terminal/terminal.c) opens the terminal, since Node cannot.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { toTerminalArguments, toTerminalSize, type Fields, type TerminalSize } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import {
  frameFields,
  TERMINAL_FRAME,
  terminalFrame,
  terminalFrames,
  type TerminalExit,
} from '#core/sandbox/terminal-frames.ts';
import type { Commands } from './commands.ts';
import { ownTerminalProgram } from './terminal/program.ts';

const { terminalsMax } = SANDBOX_LIMITS;
/** Grace period after the hangup before SIGKILL. */
const GRACE_MS = 2000;
const LOGIN_SHELL = ['/bin/sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash -l; else exec sh -l; fi'];
/** Runs a program from PATH; errors are printed on the terminal. */
const RUN = ['/bin/sh', '-c', 'exec "$@"', 'sh'];
/** For full-screen programs. */
const DEFAULTS = { TERM: 'xterm-256color' };

/** Streams the terminal's output until its program exits, and accepts input. */
type OpenTerminal = (fields: Fields, request: IncomingMessage, response: ServerResponse) => Promise<void>;

export function createTerminals(commands: Commands): OpenTerminal {
  let open = 0;
  return async (fields, request, response) => {
    const { command, cwd, variables, size } = toTerminalArguments(fields);
    const program = ownTerminalProgram();
    if (program === null)
      throw new PlatformError('terminal_unavailable', {
        reason: `they require Linux on x64 or arm64, not ${process.platform} ${process.arch}; use exec`,
      });
    if (open >= terminalsMax)
      throw new PlatformError('sandbox_limit', { what: 'Another open terminal', limit: terminalsMax });
    open++;
    try {
      const words =
        command === null
          ? LOGIN_SHELL
          : typeof command === 'string'
            ? ['/bin/sh', '-c', command]
            : [...RUN, ...command];
      const { child, kill } = await commands
        .spawn([program, ...words], { cwd, variables }, ['pipe', 'pipe', 'ignore', 'pipe'], DEFAULTS)
        .catch((error: unknown) => {
          if (!(error instanceof PlatformError) || error.details['path'] !== program.slice(0, 200)) throw error;
          throw new PlatformError('terminal_unavailable', { reason: 'its program cannot be started' });
        });
      await passBetween(child, kill, size, { request, response });
    } finally {
      open--;
    }
  };
}

async function passBetween(
  child: ChildProcess,
  kill: (signal: NodeJS.Signals) => void,
  size: TerminalSize,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const [typed, printed, , sizes] = child.stdio as unknown as [Writable, Readable, null, Duplex];
  for (const stream of [typed, printed, sizes]) stream.on('error', () => {});
  const ended = new Promise<TerminalExit>((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal === null ? { exitCode: code! } : { exitCode: 128 + constants.signals[signal], signal }),
    );
  });
  let killed: Promise<void> | null = null;
  /** The caller has disconnected. */
  const hangUp = (): void => {
    sizes.destroy();
    printed.destroy();
    killed ??= ended.then(async () => {
      await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
      kill('SIGKILL');
    });
  };
  response.once('close', () => {
    if (!response.writableFinished) hangUp();
  });
  // The caller may have disconnected during the start.
  if (response.destroyed) {
    hangUp();
    return killed!;
  }
  sizes.write(sizeBytes(size));
  const hasBegun = await Promise.race([once(sizes, 'data').then(() => true), ended.then(() => false)]);
  if (!hasBegun) throw new PlatformError('terminal_unavailable', { reason: 'this machine has no /dev/ptmx' });
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  response.write(terminalFrame(TERMINAL_FRAME.started));
  take(request, typed, sizes).catch(() => response.destroy());
  for await (const chunk of printed as AsyncIterable<Buffer>) {
    if (response.destroyed) break;
    if (!response.write(terminalFrame(TERMINAL_FRAME.bytes, chunk))) await drained(response);
  }
  if (response.destroyed) hangUp();
  response.end(terminalFrame(TERMINAL_FRAME.exit, await ended));
  await killed;
}

/**
 * Passes the caller's input, with back-pressure, and the terminal's new sizes to the program. The end of the input is
 * EOF for the program.
 */
async function take(request: IncomingMessage, typed: Writable, sizes: Duplex): Promise<void> {
  for await (const frame of terminalFrames(request.iterator({ destroyOnReturn: false }))) {
    if (frame.type === TERMINAL_FRAME.bytes) {
      if (!typed.write(frame.bytes)) await drained(typed);
    } else if (frame.type === TERMINAL_FRAME.size) {
      const size = sizeBytes(toTerminalSize(frameFields(frame) ?? {}));
      // A new size is sent before the input that follows it, because the input uses another pipe.
      await new Promise<void>((resolve) => void sizes.write(size, () => resolve()));
    }
  }
  typed.end();
}

/** The format that terminal.c reads. */
function sizeBytes({ cols, rows }: TerminalSize): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(cols, 0);
  bytes.writeUInt16LE(rows, 2);
  return bytes;
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      stream.off('drain', go).off('close', go);
      resolve();
    };
    if (stream.destroyed) resolve();
    else stream.once('drain', go).once('close', go);
  });
}
