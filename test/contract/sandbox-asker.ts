// Asks the agent of a sandbox as the service does: for the contract of backends (sandbox.ts).
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AskedOperation } from '#core/sandbox/operations.ts';
import { askAgent } from '#sandbox/routes/agent-request.ts';
import type { SandboxBackend } from '#sandbox/backends/backend.ts';

export type Fields = Readonly<Record<string, unknown>>;

interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly success: boolean;
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

export interface Started {
  readonly id: string;
  readonly status: string;
  readonly exitCode: number | null;
}

const RAW: ReadonlySet<string> = new Set(['writeFile', 'fetch', 'connect', 'terminal']);

/** Whoever asks one machine. */
export interface Asker {
  raw(
    operation: AskedOperation,
    fields?: Fields,
    body?: Uint8Array | AsyncIterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<IncomingMessage>;
  /** The answer as JSON. @throws its error, with `code`. */
  ask<Answer = unknown>(operation: AskedOperation, fields?: Fields, body?: Uint8Array): Promise<Answer>;
  exec(command: string | readonly string[], fields?: Fields): Promise<Result>;
  /** The events of an answer, as they come. */
  events(operation: AskedOperation, fields: Fields, signal?: AbortSignal): AsyncGenerator<Fields>;
  write(path: string, content: string | Uint8Array): Promise<void>;
  read(path: string): Promise<string>;
}

export function askerOf(backend: SandboxBackend, key: string): Asker {
  const raw: Asker['raw'] = async (operation, fields = {}, body = new Uint8Array(), signal) => {
    const json = JSON.stringify(fields);
    const isRaw = RAW.has(operation);
    return askAgent(await backend.connect(key), {
      operation,
      args: isRaw ? encodeURIComponent(json) : null,
      body: !isRaw ? [Buffer.from(json)] : body instanceof Uint8Array ? [body] : body,
      signal: signal ?? new AbortController().signal,
    });
  };
  const failureOf = async (answer: IncomingMessage): Promise<Error> => {
    const { error } = JSON.parse(await text(answer)) as { error: { code: string; message: string } };
    return Object.assign(new Error(error.message), { code: error.code, status: answer.statusCode });
  };
  const ask: Asker['ask'] = async (operation, fields, body) => {
    const answer = await raw(operation, fields, body);
    if (answer.statusCode !== 200) throw await failureOf(answer);
    return JSON.parse(await text(answer)) as never;
  };
  return {
    raw,
    ask,
    exec: (command, fields) => ask('exec', { command, ...fields }),
    async *events(operation, fields, signal) {
      const answer = await raw(operation, fields, undefined, signal);
      if (answer.statusCode !== 200) throw await failureOf(answer);
      let rest = '';
      for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
        const parts = (rest + chunk).split('\n\n');
        rest = parts.pop()!;
        for (const part of parts) yield JSON.parse(part.slice('data: '.length)) as Fields;
      }
    },
    write: (path, content) => ask('writeFile', { path }, Buffer.from(content as string)),
    async read(path) {
      const answer = await raw('readFile', { path });
      if (answer.statusCode !== 200) throw await failureOf(answer);
      return text(answer);
    },
  };
}

/**
 * The seconds of a `sleep` by which its process is found: nobody else's has them. Machines of some kinds see all
 * processes of the computer, also those that another file has started of the same tests at the same time.
 */
export const ownSeconds = (nth: number): string => String(nth * 10_000_000 + process.pid);

/** A pattern that finds a text in command lines, but not in that of whoever looks for it. */
const patternOf = (text: string): string => `[${text[0]}]${text.slice(1)}`;

/** A command that succeeds where a process has this in its command line. A minimal Debian has neither pgrep nor ps. */
export const findProcess = (text: string): string =>
  `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -q '${patternOf(text)}'`;

/** What there is of a stream of events up to one that is wanted. */
export async function until(events: AsyncGenerator<Fields>, wanted: (event: Fields) => boolean): Promise<Fields[]> {
  const seen: Fields[] = [];
  for await (const event of events) {
    seen.push(event);
    if (wanted(event)) break;
  }
  return seen;
}

export const textOf = (events: readonly Fields[], type: string): string =>
  events.flatMap((event) => (event['type'] === type ? [event['data']] : [])).join('');
