// What a command sees of the world around it: folder, environment, output, and the wish of the user to stop. Tests hand
// in their own; main.ts makes the real one.
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { arrayBuffer } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { marked, printed } from './printed.ts';

/** Goes to the beginning of the line, and takes away what is on it. */
const CLEARED = '\r\u001b[2K';

/** Colours and weights that appear in the output. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** The surroundings of one run of the program. */
export interface Shell {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a line to standard output, escaped by printed.ts. */
  out(line: string): void;
  /** Writes a line to standard error, escaped by printed.ts. */
  err(line: string): void;
  /** Whether standard output is a terminal: tables get a header there, and lines their colours. */
  readonly isTerminal: boolean;
  /** A line that the next one replaces, on a terminal; nothing elsewhere. Null takes it away. */
  progress(line: string | null): void;
  /** The user's answer to a question; null where nobody can be asked: standard input is no terminal. */
  ask(question: string): Promise<string | null>;
  /** All of standard input. */
  input(): Promise<Uint8Array>;
  /** Standard input as it is typed: of a terminal each key as it is pressed, without an echo, until `close`. */
  keys(): Keys;
  /** Bytes on standard output, or error, as they are; resolves when more may come. */
  write(bytes: Uint8Array, to?: 'stdout' | 'stderr'): Promise<void>;
  /** Styled text where standard output is a terminal and NO_COLOR is not set, else the text itself. */
  paint(style: Style, text: string): string;
  /** Settles when the user or the system asks the program to end; after the second request the process ends at once. */
  untilStopped(): Promise<NodeJS.Signals>;
}

/** What is typed. */
export interface Keys {
  /** Of the terminal that shows the output; null: it is none. */
  size(): { readonly cols: number; readonly rows: number } | null;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Calls back when the terminal has another size. */
  onResize(then: () => void): void;
  /** Gives the terminal back as it was. */
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
  const giveBack = (): void => void (isTyped && stdin.setRawMode(false));
  if (isTyped) stdin.setRawMode(true);
  process.once('exit', giveBack);
  return {
    size: () => (stdout.isTTY === true ? { cols: stdout.columns, rows: stdout.rows } : null),
    bytes: stdin as AsyncIterable<Buffer>,
    onResize: (then) => void stdout.on('resize', then),
    close() {
      giveBack();
      process.off('exit', giveBack);
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
 * Ctrl-C in a terminal may arrive twice within moments (once from the launcher), so only a later one counts as the
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
