// What a command sees of the world around it: folder, environment, output, and the wish of the user to stop. Tests hand
// in their own; main.ts makes the real one.
import { styleText } from 'node:util';

/** Colours and weights that appear in the output. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** The surroundings of one run of the program. */
export interface Shell {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A line on standard output. */
  out(line: string): void;
  /** A line on standard error. */
  err(line: string): void;
  /** Styled text where standard output is a terminal and NO_COLOR is not set, else the text itself. */
  paint(style: Style, text: string): string;
  /** Settles when the user or the system asks the program to end; after the second request the process ends at once. */
  untilStopped(): Promise<NodeJS.Signals>;
}

/** The shell of this process. */
export function processShell(): Shell {
  let stopped: Promise<NodeJS.Signals> | null = null;
  return {
    cwd: process.cwd(),
    env: process.env,
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    paint: (style, text) => styleText(style, text, { stream: process.stdout }),
    untilStopped: () => (stopped ??= firstSignal()),
  };
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
