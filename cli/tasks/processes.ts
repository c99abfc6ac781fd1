// Starts the child processes of repository tasks and collects what they print. Not packed.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The folder of the checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** How a child ended. */
export interface Ended {
  readonly code: number;
  /** Standard output and error, interleaved; empty when they were inherited. */
  readonly output: string;
  readonly wallMs: number;
}

/** Runs a program in the checkout's folder until it ends; `show` passes its output through instead of keeping it. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { show?: boolean; cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? root,
      env: options.env ?? process.env,
      stdio: options.show === true ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({ code: code ?? (signal === null ? 1 : 130), output, wallMs: performance.now() - began }),
    );
  });
}
