// Root of a thread that works for workers, started by threads.ts: runs one operation after the other and reports the
// cost of each. All input of the thread is untrusted.
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { cryptoOperations } from './crypto-operations.ts';
import { Fields } from './fields.ts';
import { stateOperations } from './state-operations.ts';
import { subtleOperations } from './subtle-operations.ts';
import { textOperations } from './text-operations.ts';
import { transferable, type ThreadAnswer, type ThreadReply, type ThreadRequest } from './threads.ts';

/** Resolution of the system's thread clock if it is coarse. */
const TICK_MS = 4;

// The main thread has priority if there are more threads than cores.
try {
  setPriority(Number(basename(readlinkSync('/proc/thread-self'))), 10);
} catch {
  // The system is not a Linux with /proc.
}

type Operation = (args: unknown, parts: readonly Uint8Array[]) => ThreadReply | Promise<ThreadReply>;

const operations: Record<string, Operation> = { ...subtleOperations, ...textOperations, ...stateOperations };
for (const [name, run] of Object.entries(cryptoOperations))
  operations[`crypto.${name}`] = (args, parts) => run(new Fields(args, parts));

/** The CPU of this thread, in ms. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

parentPort?.on('message', async ({ op, args, parts }: ThreadRequest) => {
  const [began, cpuBefore] = [performance.now(), threadCpuMs()];
  let outcome: Omit<ThreadAnswer, 'cpuMs'>;
  try {
    const { value, parts: made = [] } = await operations[op]!(args, parts);
    outcome = { reply: { value, parts: made.map(whole) } };
  } catch (error) {
    const { name, message, code } = error as { name?: unknown; message?: unknown; code?: unknown };
    outcome = {
      error: { name: String(name), message: String(message), ...(typeof code === 'string' ? { code } : {}) },
    };
  }
  // If another thread did the awaited work, only its elapsed time is known.
  const wallMs = performance.now() - began;
  const cpuMs = op.startsWith('subtle.') ? wallMs : Math.min(wallMs, threadCpuMs() - cpuBefore + TICK_MS);
  const answer: ThreadAnswer = { ...outcome, cpuMs };
  parentPort?.postMessage(answer, transferable(answer.reply?.parts ?? []));
});

/** Gives bytes their own buffer, because those from Node may share a pool. */
function whole(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength && bytes.constructor === Uint8Array
    ? bytes
    : Uint8Array.from(bytes);
}
