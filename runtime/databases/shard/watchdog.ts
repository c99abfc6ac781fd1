// The thread that kills its process when a statement runs too long or uses too much memory: SQLite cannot be stopped
// otherwise. The main thread writes the running request to shared memory (running.ts), and is blocked while it runs.
// Holds no tenant data.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ENDING, field, NOTE_FD, noteOf, type ShardNote } from './running.ts';

const TICK_MS = 25;

const { memory, memoryMb } = workerData as { memory: SharedArrayBuffer; memoryMb: number };
const view = new Int32Array(memory);
const names: string[] = [];

let seen = 0;
let seenAt = 0;
let restBytes = process.memoryUsage.rss();
let ticks = 0;

parentPort?.on('message', (name: string) => names.push(name));

setInterval(() => {
  const turn = Atomics.load(view, field.turn);
  if (turn % 2 === 0 || turn !== seen) {
    seen = turn;
    seenAt = performance.now();
    if (ticks++ % 40 === 0) restBytes = Math.min(process.memoryUsage.rss(), 2 * restBytes);
    return;
  }
  const limitMs = Atomics.load(view, field.limit);
  const tooLong = performance.now() - seenAt >= limitMs;
  const tooMuch = process.memoryUsage.rss() - restBytes > memoryMb * 1_048_576;
  if (tooLong || tooMuch) end(tooLong ? 'time' : 'memory', turn, limitMs);
}, TICK_MS);

function end(reason: 'time' | 'memory', turn: number, limitMs: number): void {
  const note: ShardNote = { ...noteOf(view), reason, limitMs, database: names[view[field.database] as number] ?? null };
  if (Atomics.compareExchange(view, field.turn, turn, ENDING) !== turn) return;
  writeSync(NOTE_FD, JSON.stringify(note));
  process.kill(process.pid, 'SIGKILL');
}
