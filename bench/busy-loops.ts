// Programs that only use CPU, as the load during a benchmark. They end with the benchmark, however it ends.
import { spawn } from 'node:child_process';
import { atExit } from './cleanup.ts';

/** Starts so many; the function ends them. */
export function startBusyLoops(count: number): () => void {
  const loops = Array.from({ length: count }, () =>
    // Each looks whether its parent still is there: nothing else would end it after a SIGKILL.
    spawn('/bin/sh', ['-c', 'while kill -0 $PPID; do :; done'], { stdio: 'ignore' }),
  );
  const end = (): void => {
    for (const loop of loops) loop.kill('SIGKILL');
  };
  const ended = atExit(end);
  return () => {
    end();
    ended();
  };
}
