// A Shell for tests: keeps what a command prints, and stops when the test says so.
import type { Shell } from '#cli/terminal/shell.ts';

export interface RecordingShell extends Shell {
  readonly output: string[];
  readonly errors: string[];
  stop(): void;
}

export function recordingShell(cwd: string, env: Record<string, string> = {}): RecordingShell {
  const output: string[] = [];
  const errors: string[] = [];
  const stopped = Promise.withResolvers<NodeJS.Signals>();
  return {
    cwd,
    env,
    output,
    errors,
    out: (line) => void output.push(line),
    err: (line) => void errors.push(line),
    paint: (_style, text) => text,
    untilStopped: () => stopped.promise,
    stop: () => stopped.resolve('SIGINT'),
  };
}
