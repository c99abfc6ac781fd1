// An attack with a victim beside it: what an attack file says of itself, what it may use, and the verdict. All of them
// have a platform of their own in test/hostile/main.ts; a handful share one in test/hostile/attacks.test.ts.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Probed } from './hostile-prober.ts';
import { residentBytes } from './resident-bytes.ts';
import { startPlatform, type TestPlatform } from './platform.ts';
import { processorTicks } from './processor-ticks.ts';

// Imported, it would load Node's HTTP client too, in each of a hundred processes.
const { request } = process.getBuiltinModule('node:http');

/** Kinds of attack. Those that take longest come first, so that none of them is alone at the end. */
export const attackKinds = ['memory', 'cpu', 'protocol', 'escape', 'egress', 'tenancy'] as const;
type AttackKind = (typeof attackKinds)[number];

/** An attack: the default export of a file in test/hostile/attacks. */
export interface Attack {
  readonly kind: AttackKind;
  /** It may end the process it runs in: the victim may then lose one request at a time and wait up to 2 s. */
  readonly kills?: boolean;
  /** Text of the attacker's worker, or of several workers by project. */
  readonly worker: string | Readonly<Record<string, string>>;
  /** platform.yaml of each of them. */
  readonly yaml?: string;
  /** Their variables, by project. */
  readonly vars?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Settings of the platform beside those of {@link settings}. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Does it, and says what the attacker got. */
  attack(context: AttackContext): Promise<string>;
  /**
   * Exactly what the attacker has to get; of a list, one; of distinct answers, which must and which may be among them.
   */
  readonly expect: string | readonly string[] | { readonly must: readonly string[]; readonly may: readonly string[] };
  /** How much the engine's resident memory may grow meanwhile, in MB. */
  readonly growthMbMax?: number;
  /** The attacker's own worker need not answer afterwards. */
  readonly ends?: boolean;
}

/** What an attack works with. */
interface AttackContext {
  readonly platform: TestPlatform;
  /**
   * `<status> <error code or beginning of the text>` of one request to the attacker, or the code of a broken
   * connection.
   */
  get(path?: string, options?: Ask): Promise<string>;
  /** The distinct answers of that many requests at a time, over and over for some time, sorted. */
  flood(path: string, options: { clients: number; ms: number } & Ask): Promise<string>;
  /** A bare connection. */
  socket(): Promise<Socket>;
  /** What a bare connection answers to some bytes, until it is closed or silent for that long. */
  raw(bytes: string | Uint8Array, silenceMs?: number): Promise<string>;
}

/** Options of one request. */
interface Ask {
  readonly project?: string;
  readonly host?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Gives up after this long. */
  readonly waitMs?: number;
}

/** What became of an attack. */
export interface Verdict {
  readonly passed: boolean;
  /** Why not. */
  readonly objections: readonly string[];
  /** It failed by time alone, which a busy machine can be the reason of. */
  readonly byTimeAlone: boolean;
  readonly answer: string;
  readonly victim: Probed;
  readonly engineDeaths: number;
  readonly ms: number;
  /** CPU of all its processes, also before it began. */
  readonly cpuMs: number;
  /**
   * Part of the machine's CPU that others used meanwhile, 0 to 1: where it is much, waiting times say nothing about the
   * platform.
   */
  readonly othersShare: number;
}

const settings = {
  WORKER_CPU_LIMIT_MS_FREE: '100',
  WORKER_CPU_LIMIT_MS_QUEUE_FREE: '100',
  WORKER_CPU_LIMIT_MS_TIMER_FREE: '100',
  WORKER_CPU_LIMIT_MS_CRON_FREE: '100',
  WORKER_CPU_LIMIT_MS_WORKFLOW_FREE: '100',
  WORKER_STARTUP_CPU_LIMIT_MS: '200',
  WORKER_MEMORY_MB: '64',
  WORKER_WALL_LIMIT_MS: '20000',
  // One that does not kill has nobody to replace, and the spare's boot would only be more load on a machine that is
  // busy.
  HANDLER_PROCESSES: '1',
  HANDLER_SPARES: '0',
  DRAIN_MS: '200',
};
const whereItKills = { HANDLER_PROCESSES: '2', HANDLER_SPARES: '1' };
const VICTIM = `export default { fetch: () => new Response('unhurt') };`;
/** Between looks at the engine's memory. */
const LOOK_MS = 20;
const GAP_MS_MAX = 250;
const GAP_MS_MAX_KILLED = 2000;
/**
 * Some virtual machines take 20 us for a page of memory that they have not had, fifty times the usual: whatever takes
 * memory keeps others waiting so much longer, up to this. The usual time is of {@link FRESH_BYTES}.
 */
const [FRESH_BYTES, FRESH_MS_USUAL, SLOWER_MAX] = [8 * 1024 * 1024, 12, 3];

/** A worker that attacks under `/attack` and answers `alive` elsewhere. `top` is its top level. */
export function attacker(attack: string, top = ''): string {
  return `${top}\nexport default { async fetch(request, env, ctx) { const url = new URL(request.url); if (url.pathname !== '/attack') return new Response('alive'); ${attack} } };`;
}

/**
 * Answers to a spinner whose CPU the host spends: what an earlier request left running there may have the isolate
 * replaced while a later one waits.
 */
export const hostWorkAnswers: Attack['expect'] = { must: ['500 cpu_limit_exceeded'], may: ['503 isolate_replaced'] };

/**
 * An attack that burns CPU in two projects at once, which is every place an engine of two cores has; each request has
 * to end at its budget.
 */
export function spinner(attack: string, top = '', expect: Attack['expect'] = '500 cpu_limit_exceeded'): Attack {
  const worker = attacker(attack, top);
  return {
    kind: 'cpu',
    worker: { attacker: worker, accomplice: worker },
    async attack({ flood }) {
      const options = { clients: 1, ms: 1500 };
      const answers = await Promise.all([
        flood('/attack', options),
        flood('/attack', { ...options, project: 'accomplice' }),
      ]);
      return [...new Set(answers.flatMap((distinct) => distinct.split(', ')))].sort().join(', ');
    },
    expect,
  };
}

/**
 * A worker that counts its requests, is polite to a thousand and spins in those after them; each of these has to end at
 * its budget.
 */
export function turncoat(worker: string): Attack {
  return {
    kind: 'cpu',
    worker: attacker(worker),
    async attack({ get }) {
      const answers = new Set<string>();
      let left = 1050;
      const client = async (): Promise<void> => {
        while (left-- > 0) answers.add(await get());
      };
      await Promise.all(Array.from({ length: 8 }, client));
      return [...answers].sort().join(', ');
    },
    expect: ['200 polite, 500 cpu_limit_exceeded', '200 polite, 500 cpu_limit_exceeded, 503 isolate_replaced'],
  };
}

/** Runs an attack to its verdict. */
export async function runAttack(attack: Attack): Promise<Verdict> {
  const before = processorTicks();
  // The least of some: an attack beside it may slow one down.
  const freshMs = Math.min(...Array.from({ length: 3 }, freshMemoryMs));
  const slower = Math.min(Math.max(1, freshMs / FRESH_MS_USUAL), SLOWER_MAX);
  const verdict = await run(attack, slower);
  const after = processorTicks();
  const all = after.all - before.all;
  const others = after.busy - before.busy - (after.own - before.own);
  return { ...verdict, cpuMs: after.own * 10, othersShare: all > 0 ? Math.max(0, others / all) : 0 };
}

/** How long memory takes that the process has not had. */
function freshMemoryMs(): number {
  const began = performance.now();
  const bytes = new Uint8Array(new SharedArrayBuffer(FRESH_BYTES));
  for (let at = 0; at < bytes.length; at += 4096) bytes[at] = 1;
  return performance.now() - began;
}

/** @param slower how many times the usual waiting is allowed where the attack does not kill. */
async function run(attack: Attack, slower: number): Promise<Omit<Verdict, 'cpuMs' | 'othersShare'>> {
  const began = performance.now();
  const environment = { ...settings, ...(attack.kills === true ? whereItKills : {}), ...attack.environment };
  const platform = await startPlatform({ victim: VICTIM }, environment);
  try {
    const verdict = await runOn(platform, attack, (project) => project, slower);
    return { ...verdict, ms: performance.now() - began };
  } finally {
    await platform.close();
  }
}

/** A platform that some attacks share, one after the other. */
export interface Arena {
  /** @param name of its file, by which its projects are told from those of others. */
  run(name: string, attack: Attack): Promise<Pick<Verdict, 'objections' | 'byTimeAlone' | 'answer' | 'victim'>>;
  close(): Promise<void>;
}

/**
 * For a run of the tests that has no time for a platform each: attacks that do not kill, with the usual settings or
 * those given here, and floods that are shorter than what an attack asks for.
 */
export async function openArena(environment: Readonly<Record<string, string>>, floodMsMax: number): Promise<Arena> {
  const platform = await startPlatform({ victim: VICTIM }, { ...settings, ...environment });
  return {
    run: (name, attack) => runOn(platform, attack, (project) => `${name}-${project}`, SLOWER_MAX, floodMsMax),
    close: () => platform.close(),
  };
}

/** @param named the name on the platform of a project as the attack calls it. */
async function runOn(
  platform: TestPlatform,
  attack: Attack,
  named: (project: string) => string,
  slower: number,
  floodMsMax = Infinity,
): Promise<Omit<Verdict, 'cpuMs' | 'othersShare' | 'ms'>> {
  const workers = typeof attack.worker === 'string' ? { attacker: attack.worker } : attack.worker;
  for (const [name, code] of Object.entries(workers))
    await platform.deploy(named(name), code, attack.yaml, {}, 'main', attack.vars?.[name]);
  await platform.answers('victim', 'unhurt');
  if (attack.yaml !== undefined) for (const name of Object.keys(workers)) await platform.answers(named(name), 'alive');
  const deathsBefore = (await platform.state()).deaths;
  const prober = new Worker(join(import.meta.dirname, 'hostile-prober.ts'), {
    workerData: { port: platform.port, host: 'victim.localhost' },
  });
  await once(prober, 'message');
  const growth = watchGrowth(platform.enginePid);
  let answer: string;
  try {
    answer = await attack.attack(createContext(platform, named, floodMsMax));
  } catch (error) {
    answer = `the attack failed: ${String((error as Error).stack)}`;
  }
  const grownMb = growth.end();
  const objections: string[] = [];
  if (attack.growthMbMax !== undefined && grownMb > attack.growthMbMax)
    objections.push(`the engine grew by ${grownMb} MB, more than ${attack.growthMbMax}`);
  const project = named('attacker');
  if (attack.ends !== true && (await alive(platform, project, attack.kills === true ? 20_000 : 5000)) !== '200 alive')
    objections.push('the attacker is not served again');
  prober.postMessage('stop');
  const [victim] = (await once(prober, 'message')) as [Probed];
  const unexpected = unexpectedIn(attack.expect, answer);
  if (unexpected !== null) objections.push(unexpected);
  const engineDeaths = (await platform.state()).deaths - deathsBefore;
  if (attack.kills !== true && engineDeaths > 0) objections.push(`the engine died ${engineDeaths} times`);
  const failuresMax = attack.kills === true ? 1 : 0;
  if (victim.failuresInARow > failuresMax)
    objections.push(`the victim failed ${victim.failuresInARow} times in a row: ${victim.lastFailure}`);
  const gapMax = attack.kills === true ? GAP_MS_MAX_KILLED : Math.round(GAP_MS_MAX * slower);
  const byTimeAlone = objections.length === 0;
  if (victim.longestMs > gapMax) objections.push(`the victim waited ${Math.round(victim.longestMs)} of ${gapMax} ms`);
  return { passed: objections.length === 0, objections, byTimeAlone, answer, victim, engineDeaths };
}

/** Watches the most that a process holds more than now. */
function watchGrowth(pid: number): { end(): number } {
  const before = residentBytes(pid);
  let most = before;
  const look = (): void => void (most = Math.max(most, residentBytes(pid)));
  const timer = setInterval(look, LOOK_MS);
  return {
    end() {
      look();
      clearInterval(timer);
      return Math.round((most - before) / 1024 / 1024);
    },
  };
}

/** What is wrong with an answer; null when it is as expected. */
export function unexpectedIn(expect: Attack['expect'], answer: string): string | null {
  if (typeof expect === 'string') return answer === expect ? null : `the answer is not ${expect}`;
  if ('must' in expect) {
    const got = answer.split(', ');
    const missing = expect.must.filter((word) => !got.includes(word));
    const other = got.filter((word) => !expect.must.includes(word) && !expect.may.includes(word));
    if (missing.length > 0) return `the answers lack ${missing.join(', ')}`;
    return other.length > 0 ? `the answers hold ${other.join(', ')}` : null;
  }
  return expect.includes(answer) ? null : `the answer is not ${expect.join(' or ')}`;
}

/** The attacker's own worker, asked again and again. */
async function alive(platform: TestPlatform, project: string, waitMs: number): Promise<string> {
  const until = performance.now() + waitMs;
  for (;;) {
    const answer = await ask(platform.port, '/', { project });
    if (answer === '200 alive' || performance.now() > until) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function createContext(platform: TestPlatform, named: (project: string) => string, floodMsMax: number): AttackContext {
  const get: AttackContext['get'] = (path = '/attack', { project = 'attacker', ...options } = {}) =>
    ask(platform.port, path, { ...options, project: named(project) });
  const socket: AttackContext['socket'] = async () => {
    const opened = connect(platform.port, '127.0.0.1');
    await once(opened, 'connect');
    opened.on('error', () => {});
    return opened;
  };
  return {
    platform,
    get,
    socket,
    async flood(path, { clients, ms, ...options }) {
      const answers = new Set<string>();
      const until = performance.now() + Math.min(ms, floodMsMax);
      const client = async (): Promise<void> => {
        while (performance.now() < until) answers.add(await get(path, options));
      };
      await Promise.all(Array.from({ length: clients }, client));
      return [...answers].sort().join(', ');
    },
    async raw(bytes, silenceMs = 500) {
      const opened = await socket();
      let text = '';
      opened.setEncoding('latin1');
      opened.on('data', (chunk: string) => (text += chunk));
      opened.write(bytes);
      opened.setTimeout(silenceMs, () => opened.destroy());
      if (!opened.closed) await new Promise((resolve) => opened.on('close', resolve));
      return text;
    },
  };
}

function ask(port: number, path: string, options: Ask): Promise<string> {
  return new Promise((resolve) => {
    const headers = { ...options.headers, host: options.host ?? `${options.project}.localhost` };
    const sent = request(
      { host: '127.0.0.1', port, path, method: options.method ?? 'GET', headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve(`${response.statusCode} ${word(response.headers['x-platform-error'], Buffer.concat(chunks))}`.trim()),
        );
        response.on('error', (error: NodeJS.ErrnoException) =>
          resolve(`${response.statusCode} ${error.code ?? error.message}`),
        );
      },
    );
    sent.setTimeout(options.waitMs ?? 15_000, () => sent.destroy(Object.assign(new Error(), { code: 'NO_ANSWER' })));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(options.body);
  });
}

function word(code: string | string[] | undefined, body: Buffer): string {
  return code === undefined ? body.toString('utf8', 0, 200) : String(code);
}
