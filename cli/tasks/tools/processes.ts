// Runs child processes of repository tasks and collects their output. Not packed.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The folder of the checkout. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 30_000;

/** Result of a child process. */
export interface Ended {
  readonly code: number;
  /** Standard output and error, interleaved; empty if inherited. */
  readonly output: string;
  readonly wallMs: number;
}

/** Running programs, which get SIGTERM from one shared listener. */
const running = new Set<() => void>();
const tellAll = (): void => running.forEach((tell) => tell());

/**
 * Runs a program in the checkout's folder until it ends; `show` passes its output through instead of keeping it,
 * `show` and `keep` do both. A SIGTERM is passed on, and ends this process once the program has ended. A program that
 * takes longer than `msMax` is ended, with all that it started.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { show?: boolean; keep?: boolean; cwd?: string; env?: NodeJS.ProcessEnv; msMax?: number } = {},
): Promise<Ended> {
  const began = performance.now();
  const { show = false, keep = !show } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? root,
      env: options.env ?? process.env,
      stdio: keep ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      // The program has its own process group, so that it can be killed with all its children.
      detached: options.msMax !== undefined,
    });
    let output = '';
    const timers: NodeJS.Timeout[] = [];
    const endGroup = (signal: NodeJS.Signals): void => {
      try {
        process.kill(-child.pid!, signal);
      } catch {
        // All processes of the group have already exited.
      }
    };
    if (options.msMax !== undefined)
      timers.push(
        setTimeout(() => {
          output += `\n${program} ran for more than ${options.msMax! / 1000} s and was ended\n`;
          endGroup('SIGTERM');
        }, options.msMax),
        setTimeout(() => {
          endGroup('SIGKILL');
          // Processes that left the group may keep the pipes open.
          child.stdout?.destroy();
          child.stderr?.destroy();
        }, options.msMax + KILL_AFTER_MS),
      );
    let isTold = false;
    const forwardSignal = (): void => {
      isTold = true;
      child.kill('SIGTERM');
    };
    if (running.size === 0) process.on('SIGTERM', tellAll);
    running.add(forwardSignal);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (show) process.stdout.write(chunk);
      });
    }
    const forget = (): void => {
      timers.forEach(clearTimeout);
      running.delete(forwardSignal);
      if (running.size === 0) process.off('SIGTERM', tellAll);
    };
    child.on('error', (error) => {
      forget();
      reject(error);
    });
    child.on('close', (code, signal) => {
      forget();
      if (isTold) process.kill(process.pid, 'SIGTERM');
      resolve({ code: code ?? (signal === null ? 1 : 130), output, wallMs: performance.now() - began });
    });
  });
}
