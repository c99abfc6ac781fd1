// The failure of an invocation: the message and the location in the code, from its log lines. Pure.

/** A failed invocation with its lines. */
interface Failed {
  /** Why the platform ended the invocation; empty if it did not. */
  readonly error: string;
  readonly status: number;
  readonly outcome: string;
  readonly lines: readonly { readonly level: string; readonly text: string }[];
}

/** The message of the failure, and the first frame of its stack; null if no stack was logged. */
interface FailureLine {
  readonly message: string;
  readonly place: string | null;
}

/** The last line of level error, else the platform's message, else the status. */
export function failureLine({ error, status, outcome, lines }: Failed): FailureLine {
  const logged = lines.findLast(({ level }) => level === 'error')?.text ?? error;
  const [message = '', ...frames] = logged.trim().split('\n');
  if (message !== '') return { message, place: frames.map(placeOf).find((place) => place !== null) ?? null };
  const what = outcome === 'ok' ? `The app responded with ${status}` : outcome.replaceAll('_', ' ');
  return { message: `${what} and logged no error`, place: null };
}

/** @example placeOf('    at fetch (src/index.ts:3:9)') // 'src/index.ts:3:9' */
function placeOf(frame: string): string | null {
  return /^\s*at (?:.*\()?([^()]+:\d+:\d+)\)?$/.exec(frame)?.[1] ?? null;
}
