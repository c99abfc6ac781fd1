// Logs the output of commands (`SANDBOX_LOG_EXEC`): the beginning of the responses of `exec`, `execStream` and
// `terminal`, in one line when the command ends. Arguments and input are never logged, since they may contain secrets.
// Used by routes.ts.
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { type AgentOperation, type SandboxPlace } from '#core/sandbox/operations.ts';
import { exitIn, TERMINAL_FRAME, terminalFrames } from '#core/sandbox/terminal-frames.ts';

/** A log entry. */
export interface ExecLine extends SandboxPlace {
  readonly stdout: string;
  readonly stderr: string;
  /** Null means unknown, since the output was truncated or the command did not finish. */
  readonly exitCode: number | null;
  /** Whether the output may be longer than the entry. */
  readonly isCut: boolean;
}

/** Wraps a response without changing it. Null if the operation is not logged. */
export type ExecLog = (
  place: SandboxPlace,
  operation: AgentOperation,
) => ((answer: AsyncIterable<Buffer>) => AsyncIterable<Buffer>) | null;

const { loggedBytesMax } = SANDBOX_LIMITS;

export function createExecLog(write: (line: ExecLine) => void): ExecLog {
  return (place, operation) => {
    if (operation !== 'exec' && operation !== 'execStream' && operation !== 'terminal') return null;
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
        const answered = Buffer.concat(kept);
        write({ ...place, ...(await seenIn(operation, answered)), isCut });
      }
    };
  };
}

type Seen = Pick<ExecLine, 'stdout' | 'stderr' | 'exitCode'>;

function seenIn(operation: 'exec' | 'execStream' | 'terminal', answered: Buffer): Seen | Promise<Seen> {
  if (operation === 'terminal') return printedIn(answered);
  const text = answered.toString();
  return operation === 'exec' ? resultIn(text) : eventsIn(text);
}

async function printedIn(answered: Buffer): Promise<Seen> {
  const printed: Uint8Array[] = [];
  let exitCode: number | null = null;
  try {
    for await (const frame of terminalFrames(only(answered))) {
      if (frame.type === TERMINAL_FRAME.bytes) printed.push(frame.bytes);
      if (frame.type === TERMINAL_FRAME.exit) exitCode = exitIn(frame)?.exitCode ?? null;
    }
  } catch {
    // The logged beginning may end within a frame.
  }
  return { stdout: Buffer.concat(printed).toString(), stderr: '', exitCode };
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Extracts the texts of a JSON that may be truncated. The input is untrusted. */
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

/** Null: not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
