// Logs what commands print (`SANDBOX_LOG_EXEC`): of `exec` and `execStream` the beginning of the answer, read as it
// passes, in one line when the command is over. Never its arguments, which may have secrets. Used by routes.ts.
import { SANDBOX_BOUNDS, type AgentOperation, type SandboxPlace } from '#core/sandbox/operations.ts';

/** A line of the log. */
export interface ExecLine extends SandboxPlace {
  readonly stdout: string;
  readonly stderr: string;
  /** Null: not known, since the output was cut or the command did not come to its end. */
  readonly exitCode: number | null;
  /** Whether there may be more than the line has. */
  readonly isCut: boolean;
}

/** Passes an answer on as it is. Null: an operation whose answer is not logged. */
export type ExecLog = (
  place: SandboxPlace,
  operation: AgentOperation,
) => ((answer: AsyncIterable<Buffer>) => AsyncIterable<Buffer>) | null;

const { loggedBytesMax } = SANDBOX_BOUNDS;

export function createExecLog(write: (line: ExecLine) => void): ExecLog {
  return (place, operation) => {
    if (operation !== 'exec' && operation !== 'execStream') return null;
    return async function* passed(answer) {
      const kept: Buffer[] = [];
      let bytes = 0;
      let isCut = true;
      try {
        for await (const chunk of answer) {
          if (bytes < loggedBytesMax) kept.push(Buffer.from(chunk.subarray(0, loggedBytesMax - bytes)));
          bytes += chunk.byteLength;
          yield chunk;
        }
        isCut = bytes > loggedBytesMax;
      } finally {
        const text = Buffer.concat(kept).toString();
        write({ ...place, ...(operation === 'exec' ? resultIn(text) : eventsIn(text)), isCut });
      }
    };
  };
}

type Seen = Pick<ExecLine, 'stdout' | 'stderr' | 'exitCode'>;

/** Of the beginning of a JSON, the texts as far as they go. An agent may say anything. */
function resultIn(text: string): Seen {
  const output = (name: string): string => {
    const [, found = ''] = new RegExp(`"${name}":"((?:[^"\\\\]+|\\\\[^u]|\\\\u[0-9a-fA-F]{4})*)`).exec(text) ?? [];
    return textOf(parsed(`"${found}"`));
  };
  const whole = parsed(text) as { exitCode?: unknown } | null;
  return { stdout: output('stdout'), stderr: output('stderr'), exitCode: numberOf(whole?.exitCode) };
}

function eventsIn(text: string): Seen {
  const events = text
    .split('\n\n')
    .map(
      (part) => parsed(part.replace(/^data: /, '')) as { type?: unknown; data?: unknown; exitCode?: unknown } | null,
    );
  const output = (type: string): string =>
    events.map((event) => (event?.type === type ? textOf(event.data) : '')).join('');
  const end = events.find((event) => event?.type === 'complete');
  return { stdout: output('stdout'), stderr: output('stderr'), exitCode: numberOf(end?.exitCode) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Null: no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
