// A Shell for tests: keeps what a command prints, and stops when the test says so.
import { printed } from '#cli/terminal/printed.ts';
import type { Shell } from '#cli/terminal/shell.ts';

export interface RecordingShell extends Shell {
  readonly output: string[];
  readonly errors: string[];
  /** What was written as bytes. */
  readonly written: Uint8Array[];
  /** The same on standard error. */
  readonly writtenErrors: Uint8Array[];
  stop(): void;
}

/** What the user of a recorded shell does. */
export interface RecordedUser {
  readonly isTerminal?: boolean;
  /** Answers to questions, in turn; without any nobody can be asked. */
  readonly answers?: readonly string[];
  /** Standard input. */
  readonly input?: string;
}

export function recordingShell(
  cwd: string,
  env: Record<string, string> = {},
  { isTerminal = false, answers = [], input = '' }: RecordedUser = {},
): RecordingShell {
  const output: string[] = [];
  const errors: string[] = [];
  const written: Uint8Array[] = [];
  const writtenErrors: Uint8Array[] = [];
  const waiting = [...answers];
  const stopped = Promise.withResolvers<NodeJS.Signals>();
  return {
    cwd,
    env,
    output,
    errors,
    out: (line) => void output.push(printed(line)),
    err: (line) => void errors.push(printed(line)),
    written,
    writtenErrors,
    isTerminal,
    progress() {},
    ask: async () => waiting.shift() ?? null,
    input: async () => Buffer.from(input),
    keys: () => ({
      size: () => (isTerminal ? { cols: 100, rows: 30 } : null),
      bytes: typed(input, isTerminal),
      onResize() {},
      close() {},
    }),
    write: async (bytes, to = 'stdout') => void (to === 'stdout' ? written : writtenErrors).push(bytes),
    paint: (_style, text) => text,
    untilStopped: () => stopped.promise,
    stop: () => stopped.resolve('SIGINT'),
  };
}

/** At a terminal the user stays there. */
async function* typed(input: string, isTerminal: boolean): AsyncGenerator<Uint8Array> {
  yield Buffer.from(input);
  if (isTerminal) await new Promise(() => {});
}
