// Reads the output of a build command. Called by fence.ts.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** Maximum output kept of a command without a listener. */
const KEPT_BYTES_MAX = 1024 * 1024;

/** Destinations of a command's output. */
export interface CommandOutput {
  /** Called with output; without it, the first 1 MB of each stream is returned. */
  readonly onOutput?: (chunk: Buffer, isError: boolean) => void;
  /** Called with data of file descriptor 3. */
  readonly onReport?: (chunk: Buffer) => void;
  /** Called with standard output, with back-pressure (unlike `onOutput`); may abort by throwing. */
  readonly read?: (output: Readable) => Promise<void>;
}

/** Reads the output of a command to its end. */
export function keepOutput(
  child: ChildProcess,
  { onOutput, onReport, read }: CommandOutput,
): { readonly done: Promise<unknown>; texts(): { stdout: string; stderr: string } } {
  const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  const bytes = { stdout: 0, stderr: 0 };
  const take = (name: 'stdout' | 'stderr', chunk: Buffer): void => {
    if (onOutput !== undefined) onOutput(chunk, name === 'stderr');
    else if (bytes[name] < KEPT_BYTES_MAX) {
      bytes[name] += chunk.length;
      chunks[name].push(chunk);
    }
  };
  const ends: Promise<unknown>[] = [];
  const listen = (stream: Readable, onChunk: (chunk: Buffer) => void): void => {
    ends.push(once(stream, 'close').catch(() => {}));
    stream.on('data', onChunk);
  };
  if (read === undefined) listen(child.stdout!, (chunk) => take('stdout', chunk));
  listen(child.stderr!, (chunk) => take('stderr', chunk));
  if (onReport !== undefined) listen(child.stdio[3] as Readable, onReport);
  return {
    done: Promise.all(ends),
    texts: () => ({
      stdout: Buffer.concat(chunks.stdout).toString('utf8'),
      stderr: Buffer.concat(chunks.stderr).toString('utf8'),
    }),
  };
}
