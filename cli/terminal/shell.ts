// The environment of a command: folder, variables, input and output, stop signal. main.ts creates the real one; tests
// pass fakes.
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { arrayBuffer } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { marked, printed } from './printed.ts';

/** Moves to the start of the line and clears it. */
const CLEARED = '\r\u001b[2K';

/** Text styles of the output. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** The environment of one run. */
export interface Shell {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a line to standard output, escaped by printed.ts. */
  out(line: string): void;
  /** Writes a line to standard error, escaped by printed.ts. */
  err(line: string): void;
  /** Whether standard output is a terminal, which gets table headers and colours. */
  readonly isTerminal: boolean;
  /** A status line that the next status line replaces; only on a terminal. Null clears it. */
  progress(line: string | null): void;
  /** Prompts the user; null if standard input is not a terminal. */
  ask(question: string): Promise<string | null>;
  /** Reads all of standard input. */
  input(): Promise<Uint8Array>;
  /** Standard input in raw mode: each key as pressed, without echo, until `close`. */
  keys(): Keys;
  /** Writes raw bytes to standard output or error; resolves when more can be written. */
  write(bytes: Uint8Array, to?: 'stdout' | 'stderr'): Promise<void>;
  /** Styles text if standard output is a terminal and NO_COLOR is not set. */
  paint(style: Style, text: string): string;
  /** Settles on the first stop signal; the second signal exits immediately. */
  untilStopped(): Promise<NodeJS.Signals>;
}

/** Raw standard input. */
export interface Keys {
  /** Size of the output terminal; null if it is not a terminal. */
  size(): { readonly cols: number; readonly rows: number } | null;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Calls back when the terminal is resized. */
  onResize(then: () => void): void;
  /** Restores the terminal. */
  close(): void;
}

/** The shell of this process. */
export function processShell(): Shell {
  let stopped: Promise<NodeJS.Signals> | null = null;
  let isShown = false;
  const progress = (line: string | null): void => {
    if (!process.stderr.isTTY || (line === null && !isShown)) return;
    const shown =
      line === null
        ? ''
        : printed(line)
            .replace(/\n[^]*/, '')
            .slice(0, (process.stderr.columns || 80) - 1);
    process.stderr.write(`${CLEARED}${shown}`);
    isShown = line !== null;
  };
  return {
    cwd: process.cwd(),
    env: process.env,
    isTerminal: process.stdout.isTTY === true,
    out(line) {
      progress(null);
      process.stdout.write(`${printed(line)}\n`);
    },
    err(line) {
      progress(null);
      process.stderr.write(`${printed(line)}\n`);
    },
    progress,
    ask,
    keys,
    input: async () => new Uint8Array(await arrayBuffer(process.stdin)),
    async write(bytes, to = 'stdout') {
      if (!process[to].write(bytes)) await once(process[to], 'drain');
    },
    paint: (style, text) => marked(styleText(style, text, { stream: process.stdout })),
    untilStopped: () => (stopped ??= firstSignal()),
  };
}

function keys(): Keys {
  const { stdin, stdout } = process;
  const isTyped = stdin.isTTY === true;
  const restoreMode = (): void => void (isTyped && stdin.setRawMode(false));
  if (isTyped) stdin.setRawMode(true);
  process.once('exit', restoreMode);
  return {
    size: () => (stdout.isTTY === true ? { cols: stdout.columns, rows: stdout.rows } : null),
    bytes: stdin as AsyncIterable<Buffer>,
    onResize: (then) => void stdout.on('resize', then),
    close() {
      restoreMode();
      process.off('exit', restoreMode);
      stdin.destroy();
    },
  };
}

async function ask(question: string): Promise<string | null> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(printed(question));
  } finally {
    lines.close();
  }
}

/**
 * One Ctrl-C may arrive twice in quick succession (once from the launcher), so only a later signal counts as the
 * second.
 */
function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first = 0;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        const now = performance.now();
        if (first === 0) {
          first = now;
          resolve(signal);
        } else if (now - first > 500) process.exit(130);
      });
    }
  });
}
