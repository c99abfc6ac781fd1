// `exec` and `execStream`: foreground commands. Commands are killed at their time limit, or when the caller
// disconnects.
import type { ServerResponse } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { PlatformError } from '#core/errors.ts';
import { toCommandArguments, toInput, toTimeout, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import type { Commands, RunningCommand } from './commands.ts';
import { createEventStream } from './event-stream.ts';

/** The exit code after a timeout, as in `timeout`. */
const TIMED_OUT = 124;

const { outputBytesMax, processesMax } = SANDBOX_LIMITS;
/** Maximum total output held by all running commands. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;

/** Defined in packages/types/sandbox.d.ts. */
interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly success: boolean;
  readonly durationMs: number;
  /** Whether output was dropped. */
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

export interface Executions {
  exec(fields: Fields, gone: AbortSignal): Promise<ExecResult>;
  execStream(fields: Fields, response: ServerResponse): Promise<void>;
}

export function createExecutions(commands: Commands): Executions {
  let running = 0;
  let heldBytes = 0;

  async function run<Result>(
    fields: Fields,
    watch: (command: RunningCommand) => (end: { exitCode: number; timedOut: boolean; durationMs: number }) => Result,
    gone: AbortSignal,
  ): Promise<Result> {
    const command = toCommandArguments(fields);
    const limitMs = toTimeout(fields['timeoutMs']);
    const input = toInput(fields['stdin']);
    if (running >= processesMax)
      throw new PlatformError('sandbox_limit', { what: 'Another running command', limit: processesMax });
    running++;
    try {
      const startedAt = performance.now();
      const child = await commands.start(command, input);
      const finish = watch(child);
      let timedOut = false;
      const timer = setTimeout(() => {
        timedOut = true;
        child.kill('SIGKILL');
      }, limitMs);
      const abandon = (): void => child.kill('SIGKILL');
      if (gone.aborted) abandon();
      gone.addEventListener('abort', abandon);
      const exitCode = await child.exited;
      clearTimeout(timer);
      gone.removeEventListener('abort', abandon);
      const durationMs = Math.round(performance.now() - startedAt);
      return finish({ exitCode: timedOut ? TIMED_OUT : exitCode, timedOut, durationMs });
    } finally {
      running--;
    }
  }

  /** Keeps the beginning of an output, within the shared limit. */
  function capture(stream: RunningCommand['stdout']): { take(): string; readonly cut: boolean } {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let cut = false;
    stream.on('data', (chunk: Buffer) => {
      const room = Math.min(outputBytesMax - bytes, HELD_BYTES_MAX - heldBytes);
      if (chunk.byteLength > room) cut = true;
      const kept = chunk.subarray(0, Math.max(0, room));
      if (kept.byteLength === 0) return;
      chunks.push(kept);
      bytes += kept.byteLength;
      heldBytes += kept.byteLength;
    });
    return {
      take() {
        heldBytes -= bytes;
        // A truncated character is dropped.
        return cut ? new StringDecoder('utf8').write(Buffer.concat(chunks)) : Buffer.concat(chunks).toString();
      },
      get cut() {
        return cut;
      },
    };
  }

  return {
    exec: (fields, gone) =>
      run(
        fields,
        (child) => {
          const stdout = capture(child.stdout);
          const stderr = capture(child.stderr);
          return ({ exitCode, timedOut, durationMs }) => ({
            stdout: stdout.take(),
            stderr: stderr.take(),
            exitCode,
            success: exitCode === 0,
            durationMs,
            truncated: stdout.cut || stderr.cut,
            timedOut,
          });
        },
        gone,
      ),
    async execStream(fields, response) {
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      await run(
        fields,
        (child) => {
          const events = createEventStream(response);
          events.send({ type: 'start', command: fields['command'], pid: child.pid });
          const ends = (['stdout', 'stderr'] as const).map((type) => {
            const decoder = new StringDecoder('utf8');
            const stream = child[type];
            const say = (data: string): void => {
              if (data === '' || events.closed || events.send({ type, data })) return;
              stream.pause();
              events.drained(() => stream.resume());
            };
            // When the caller disconnects, the held output is released.
            gone.signal.addEventListener('abort', () => stream.resume());
            stream.on('data', (chunk: Buffer) => say(decoder.write(chunk)));
            return () => say(decoder.end());
          });
          return (end) => {
            for (const rest of ends) rest();
            events.send({ type: 'complete', success: end.exitCode === 0, ...end });
            events.end();
          };
        },
        gone.signal,
      );
    },
  };
}
