// Sends model calls to gateways over keep-alive connections and measures the times. All gateways get the same client.
import { Pool } from 'undici';
import { cpuMs } from './load.ts';
import { percentile } from './statistics.ts';

/** Something that answers chat completions. */
interface ChatTarget {
  readonly name: string;
  readonly origin: string;
  /** Instead of the origin's port. */
  readonly socket?: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Before the name of the model. */
  readonly prefix: string;
  /** Whose CPU time and memory count. */
  readonly pids: readonly number[];
}

/** A target with its connections. */
export interface OpenTarget extends ChatTarget {
  readonly pool: Pool;
}

const SYSTEM = 'You are a careful assistant. '.repeat(30);

export function openTarget(target: ChatTarget): OpenTarget {
  const connect = target.socket === undefined ? {} : { connect: { socketPath: target.socket } };
  // One more than any load needs; nothing is sent before the answer to what was.
  const pool = new Pool(target.origin, { ...connect, connections: 2000, pipelining: 1, bodyTimeout: 0 });
  return { ...target, pool };
}

export const bodyOf = ({ prefix }: ChatTarget, model: string, isStream: boolean): string =>
  JSON.stringify({
    model: `${prefix}${model}`,
    stream: isStream,
    messages: [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: 'Say hello' },
    ],
  });

/** Ms until the first byte of the body, and until its end. @throws {Error} when it is no good answer. */
async function askOnce(target: OpenTarget, body: string): Promise<{ firstMs: number; wholeMs: number }> {
  const from = performance.now();
  const answer = await target.pool.request({ path: target.path, method: 'POST', headers: target.headers, body });
  let firstMs = Number.NaN;
  let text = '';
  for await (const chunk of answer.body) {
    if (text === '') firstMs = performance.now() - from;
    text += (chunk as Buffer).toString('latin1');
  }
  const wholeMs = performance.now() - from;
  if (answer.statusCode !== 200 || !/"finish_reason":"stop"/.test(text))
    throw new Error(`${target.name} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
  return { firstMs, wholeMs };
}

/** One after the other, each target in turn: whatever else the machine does hits all of them. */
export async function askInTurn(
  targets: readonly OpenTarget[],
  { count, isStream }: { readonly count: number; readonly isStream: boolean },
): Promise<Map<string, { readonly first: number[]; readonly whole: number[] }>> {
  const times = new Map(targets.map(({ name }) => [name, { first: [] as number[], whole: [] as number[] }]));
  const warmUp = Math.ceil(count / 4);
  for (let at = -warmUp; at < count; at += 1)
    for (const target of targets) {
      const { firstMs, wholeMs } = await askOnce(target, bodyOf(target, 'echo', isStream));
      if (at < 0) continue;
      times.get(target.name)!.first.push(firstMs);
      times.get(target.name)!.whole.push(wholeMs);
    }
  return times;
}

export interface LoadReading {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
}

const cpuOf = ({ pids }: ChatTarget): number => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);

/** So many at a time for a while. */
export async function askTogether(target: OpenTarget, together: number, seconds: number): Promise<LoadReading> {
  const body = bodyOf(target, 'echo', false);
  const times: number[] = [];
  const before = cpuOf(target);
  const from = performance.now();
  const until = from + seconds * 1000;
  await Promise.all(
    Array.from({ length: together }, async () => {
      while (performance.now() < until) times.push((await askOnce(target, body)).wholeMs);
    }),
  );
  const tookMs = performance.now() - from;
  return {
    perSecond: times.length / (tookMs / 1000),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    cpuUs: ((cpuOf(target) - before) * 1000) / times.length,
  };
}
