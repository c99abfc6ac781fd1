// Counts the system calls of a process's threads by strace. strace slows the threads down, so the counts are valid but
// the times are not.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { temporaryFolder } from './cleanup.ts';
import { threadName } from './thread-figures.ts';

/** How often threads of one name made one call. */
interface SystemCalls {
  readonly thread: string;
  readonly name: string;
  readonly count: number;
}

/** Counts while `work` goes on; a text says why it cannot. */
export async function countSystemCalls<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly counts: SystemCalls[] } | string> {
  if (spawnSync('strace', ['-V']).error !== undefined) return 'strace is missing (`apt-get install strace`)';
  const file = path.join(temporaryFolder(), 'calls');
  const tracer = spawn('strace', ['-f', '-qq', '-s', '0', '-o', file, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  tracer.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(tracer, 'exit');
  const result = await work();
  tracer.kill('SIGINT');
  await ended;
  const counts = parseCalls(readFileSync(file, 'utf8'), (thread) => {
    try {
      return threadName(pid, thread);
    } catch {
      return 'ended';
    }
  });
  return counts.length === 0 ? said.trim().split('\n')[0] || 'strace saw none' : { result, counts };
}

/** What strace wrote with `-f -o`, the most frequent first. @param nameOf a thread, by its number. */
export function parseCalls(written: string, nameOf: (thread: number) => string): SystemCalls[] {
  const counts = new Map<string, SystemCalls & { count: number }>();
  for (const [, id, name] of written.matchAll(/^(\d+) +([a-z]\w*)\(/gm)) {
    const thread = nameOf(Number(id));
    const key = `${thread} ${name}`;
    const found = counts.get(key);
    if (found === undefined) counts.set(key, { thread, name: name!, count: 1 });
    else found.count++;
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count);
}
