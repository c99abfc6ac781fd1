// A program of a user in Node, in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** How it ended. */
export interface ChildEnd {
  readonly code: number | null;
  /** Without the line's end. */
  readonly output: string;
  readonly errors: string;
}

/** Runs an ES module to its end, without the variables that `platform dev` gives. */
export async function runChild(
  code: string,
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<ChildEnd> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PLATFORM_MOCK_SERVER_'));
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...Object.fromEntries(inherited), ...env },
  });
  const [output, errors, [exit]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: exit as number | null, output: output.trimEnd(), errors };
}
