// Rounds of kill -9 under load, for test/durability/kill-9.test.ts and test/machines/kill-9.test.ts: queue, workflow,
// timer, state, files and databases are used at once while processes or machines die, and every acknowledgement is held
// against what came of it. DURABILITY_DATABASES says how many databases are written to.
import type { SupervisorState } from '#runtime/supervisor/engines/state.ts';
import { childOf } from './child-process.ts';
import { startPlatform } from './platform.ts';
import { until } from './until.ts';

export const kinds = ['queue', 'timer', 'workflow', 'state', 'counter', 'file', 'db'] as const;
type Kind = (typeof kinds)[number];
const steps = ['a', 'b', 'c'] as const;

/** What became of the operations of one kind. */
export interface Account {
  /** Answered with 200. */
  readonly acknowledged: number;
  /** Answered with an error, or not at all: may have been done or not. */
  readonly unknown: number;
  /** Acknowledged, and nothing of it is there. */
  readonly lost: readonly string[];
  /** Of all, how many came; steps of runs count one by one, increments by their sum. */
  readonly came: number;
  /** How often something came again. */
  readonly again: number;
  /** Came, and nobody asked for it. */
  readonly strange: readonly string[];
}

/** A run of rounds. */
interface DurabilityReport {
  readonly kills: Readonly<Record<string, number>>;
  readonly accounts: Readonly<Record<Kind, Account>>;
  /** Runs that ended otherwise than completed with their result: `id status`. */
  readonly failedRuns: readonly string[];
  /** Messages among the dead letters. */
  readonly dead: number;
  /** Statements about the SQLite file and rows of Postgres that do not agree with themselves. */
  readonly corrupt: readonly string[];
}

/** Rows of a page of `/came`: few enough for the CPU limit of a request. */
const CAME_PAGE = 2000;
const names = Array.from({ length: Number(process.env['DURABILITY_DATABASES'] ?? 1) }, (_, index) =>
  index === 0 ? 'DB' : `DB${index}`,
);
const yaml = `
queue: { JOBS: jobs }
timer: { TIMER: reminders }
workflow: { ORDER: orders }
state: { KV: ledger }
fs: { FILES: files }
db: { ${names.map((name, index) => `${name}: ${index === 0 ? 'main' : `d${index}`}`).join(', ')} }
`;
const worker = `
const names = ${JSON.stringify(names)};
const ofAll = async (env, work) => (await Promise.all(names.map((name) => work(env[name])))).flat();
const note = (env, kind, id) => env.DB.prepare('INSERT INTO came (kind, id) VALUES (?, ?)').bind(kind, id).run();
const operations = {
  queue: ({ JOBS }, id) => JOBS.send(id),
  timer: ({ TIMER }, id) => TIMER.set(id, { afterMs: 30 }, { payload: id }),
  workflow: ({ ORDER }, id) => ORDER.trigger({ id }, { id }),
  state: ({ KV }, id) => KV.put('key ' + id, id),
  counter: ({ KV }) => KV.update('counter', { $inc: { n: 1 } }),
  file: ({ FILES }, id) => FILES.put(id, id),
  db: (env, id) => note({ DB: env[names[id.slice(1) % names.length]] }, 'db', id),
};
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const [kind, id] = [searchParams.get('kind'), searchParams.get('id')];
    const all = (sql) => ofAll(env, async (database) => (await database.prepare(sql).all()).results);
    if (pathname === '/do') {
      console.log('do', kind, id);
      await operations[kind](env, id);
    } else if (pathname === '/prepare')
      await ofAll(env, (database) => database.exec('CREATE TABLE IF NOT EXISTS came (kind TEXT, id TEXT)'));
    else if (pathname === '/came') {
      const page = 'SELECT rowid AS at, kind, id FROM came WHERE rowid > ? ORDER BY rowid LIMIT ${CAME_PAGE}';
      const { results } = await env[searchParams.get('database')].prepare(page).bind(Number(searchParams.get('after'))).all();
      return Response.json(results);
    } else if (pathname === '/check') return Response.json(await all('PRAGMA integrity_check'));
    else if (pathname === '/files') {
      const ids = searchParams.get('ids').split(',');
      return Response.json(await Promise.all(ids.map(async (id) => (await (await env.FILES.get(id))?.text()) ?? null)));
    } else if (pathname === '/state') return Response.json(await Promise.all(searchParams.get('ids').split(',').map((id) => env.KV.get('key ' + id))));
    else if (pathname === '/counter') return Response.json((await env.KV.get('counter', 'json'))?.n ?? 0);
    else if (pathname === '/runs') {
      const ids = searchParams.get('ids').split(',');
      return Response.json(await Promise.all(ids.map(async (id) => {
        const run = await env.ORDER.getExecution(id).catch(() => null);
        return run === null ? null : { status: run.status, output: run.output };
      })));
    } else if (pathname === '/queue') return Response.json(await env.JOBS.metrics());
    return new Response('ok');
  },
  message: (event, env) => note(env, 'queue', event.payload),
  timer: (event, env) => note(env, 'timer', event.payload),
  workflows: {
    orders: {
      async handler({ input, step, env }) {
        const names = [];
        for (const name of ['a', 'b', 'c']) {
          names.push(await step.run(name, async () => {
            await note(env, 'workflow', input.id + ' ' + name);
            return name;
          }, { retries: 50, backoff: { type: 'constant', delayMs: 50 } }));
          await step.sleep(10);
        }
        return names.join('');
      },
    },
  },
};`;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What is used, and what dies. */
export interface DurablePlatform {
  deploy(code: string, yaml: string): Promise<void>;
  fetch(path: string, method: 'GET' | 'POST'): Promise<Answer>;
  /** What is killed in a round (from 1), in this order: each says what it was. */
  kills(round: number): readonly (() => Promise<string>)[];
  close(): Promise<void>;
}

/** For both: attempts follow each other fast, and are many. */
export const durableVariables = {
  DELIVERY_BACKOFF_MS: '50',
  DELIVERY_BACKOFF_MS_MAX: '500',
  DELIVERY_RETRIES: '100',
  BROKER_POLL_MS: '200',
  QUARANTINE_BACKOFF_MS: '10',
  DB_MAX_RESULT_BYTES: String(64 * 1024 * 1024),
};

const LANES = 8;
/** Acknowledgements between two kills. */
const ACKNOWLEDGED_BETWEEN = 50;
const PAGE = 40;
/** Longest wait for an answer with 200. */
const ANSWER_MS_MAX = 180_000;

type Victim = 'engine' | 'Postgres' | 'broker' | 'database service';
/** How often each `kind id` came, and the last row of each database that was read. */
interface Came {
  readonly counts: Map<string, number>;
  readonly readTo: Map<string, number>;
}

/** One machine, whose processes die. */
async function oneMachine(): Promise<DurablePlatform> {
  const platform = await startPlatform({}, { DATABASE_URL: '', HANDLER_PROCESSES: '2', ...durableVariables });
  const kill = (what: Victim) => async (): Promise<string> => {
    process.kill(await until(async () => victim(what, await platform.state())), 'SIGKILL');
    return what;
  };
  return {
    deploy: (code, yaml) => platform.deploy('shop', code, yaml),
    fetch: (at, method) => platform.fetch('shop', at, { method }),
    kills: (round) => [kill('engine'), kill('Postgres'), kill(round % 2 === 1 ? 'broker' : 'database service')],
    close: () => platform.close(),
  };
}

/** Asks until the answer is 200, and returns its text; fails with the last other answer. */
export async function served(what: string, ask: () => Promise<Answer>): Promise<string> {
  const began = performance.now();
  const { text } = await until(async () => {
    const answer = await ask().catch((error: unknown) => ({ status: 0, text: String(error) }));
    if (answer.status === 200) return answer;
    if (performance.now() - began < ANSWER_MS_MAX) return null;
    throw new Error(`no answer 200 from ${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
  });
  return text;
}

/** Runs them. @param tell called with each round. */
export async function runDurability(
  rounds: number,
  tell: (line: string) => void,
  open: () => Promise<DurablePlatform> = oneMachine,
): Promise<DurabilityReport> {
  const platform = await open();
  const acknowledged = new Map<Kind, string[]>(kinds.map((kind) => [kind, []]));
  const unknown = new Map<Kind, string[]>(kinds.map((kind) => [kind, []]));
  const kills: Record<string, number> = {};
  let count = 0;
  let total = 0;
  let waiting: { at: number; resolve: () => void } | null = null;
  let running = true;

  async function insist(path: string): Promise<unknown> {
    const text = await served(path, () => platform.fetch(path, 'GET'));
    return text === 'ok' ? null : JSON.parse(text);
  }

  /** Reads the rows that are new since the last call with this object. */
  async function readCame(came: Came): Promise<Came> {
    for (const database of names)
      for (;;) {
        const after = came.readTo.get(database) ?? 0;
        const path = `/came?database=${database}&after=${after}`;
        const rows = (await insist(path)) as { at: number; kind: string; id: string }[];
        for (const { kind, id } of rows) came.counts.set(`${kind} ${id}`, (came.counts.get(`${kind} ${id}`) ?? 0) + 1);
        if (rows.length > 0) came.readTo.set(database, rows.at(-1)!.at);
        if (rows.length < CAME_PAGE) break;
      }
    return came;
  }

  async function load(): Promise<void> {
    while (running) {
      const kind = kinds[count % kinds.length]!;
      const id = `n${++count}`;
      const answer = await platform.fetch(`/do?kind=${kind}&id=${id}`, 'POST').catch(() => null);
      if (answer?.status !== 200) {
        unknown.get(kind)!.push(id);
        await insist('/');
        continue;
      }
      acknowledged.get(kind)!.push(id);
      if (++total >= (waiting?.at ?? Infinity)) waiting!.resolve();
    }
  }

  const progress = (): Promise<void> =>
    new Promise((resolve) => (waiting = { at: total + ACKNOWLEDGED_BETWEEN, resolve }));

  async function all<T>(ids: readonly string[], path: string): Promise<(T | null)[]> {
    const found: (T | null)[] = [];
    for (let at = 0; at < ids.length; at += PAGE)
      found.push(...((await insist(`${path}?ids=${ids.slice(at, at + PAGE).join(',')}`)) as (T | null)[]));
    return found;
  }

  /** Resolves when every acknowledged event has come and every run that is there has ended. */
  function settled(): Promise<true> {
    const came = nothingCame();
    let going = [...acknowledged.get('workflow')!, ...unknown.get('workflow')!];
    return until(async () => {
      await readCame(came);
      const has = (kind: Kind): boolean => acknowledged.get(kind)!.every((id) => came.counts.has(`${kind} ${id}`));
      const { backlogCount, inFlightCount } = (await insist('/queue')) as {
        backlogCount: number;
        inFlightCount: number;
      };
      const runs = await all<{ status: string }>(going, '/runs');
      going = going.filter((_, at) => ['pending', 'running', 'paused'].includes(runs[at]?.status ?? ''));
      return backlogCount === 0 && inFlightCount === 0 && has('timer') && going.length === 0;
    });
  }

  try {
    await platform.deploy(worker, yaml);
    await insist('/prepare');
    const loading = Array.from({ length: LANES }, load);
    for (let round = 1; round <= rounds; round++) {
      for (const kill of platform.kills(round)) {
        await progress();
        const what = await kill();
        kills[what] = (kills[what] ?? 0) + 1;
      }
      await progress();
      tell(`round ${round} of ${rounds}: ${total} acknowledged of ${count}`);
    }
    running = false;
    await Promise.all(loading);
    const late = timeout(120_000);
    if ((await Promise.race([settled(), late.fired])) === 'late') tell('not everything came within two minutes');
    late.clear();
    const { counts } = await readCame(nothingCame());
    const accounts = {} as Record<Kind, Account>;
    for (const kind of kinds) accounts[kind] = await account(kind, counts);
    const runIds = [...acknowledged.get('workflow')!, ...unknown.get('workflow')!];
    const runs = await all<{ status: string; output: unknown }>(runIds, '/runs');
    const { deadCount } = (await insist('/queue')) as { deadCount: number };
    const checked = (await insist('/check')) as Record<string, unknown>[];
    return {
      kills,
      accounts,
      failedRuns: runs.flatMap((run, index) =>
        run === null || (run.status === 'completed' && run.output === 'abc') ? [] : [`${runIds[index]} ${run.status}`],
      ),
      dead: deadCount,
      corrupt: checked.map((row) => String(Object.values(row)[0])).filter((text) => text !== 'ok'),
    };
  } finally {
    running = false;
    await platform.close();
  }

  async function account(kind: Kind, counts: Came['counts']): Promise<Account> {
    const [taken, open] = [acknowledged.get(kind)!, unknown.get(kind)!];
    const head = { acknowledged: taken.length, unknown: open.length };
    if (kind === 'counter') {
      const sum = (await insist('/counter')) as number;
      const missing = Array.from({ length: Math.max(0, taken.length - sum) }, (_, n) => `increment ${n}`);
      const extra = Array.from({ length: Math.max(0, sum - taken.length - open.length) }, (_, n) => `increment ${n}`);
      return { ...head, lost: missing, came: sum, again: 0, strange: extra };
    }
    if (kind === 'state' || kind === 'file') {
      const values = await all<string>(taken, kind === 'state' ? '/state' : '/files');
      return { ...head, lost: taken.filter((id, at) => values[at] !== id), came: values.length, again: 0, strange: [] };
    }
    const parts = (id: string): string[] => (kind === 'workflow' ? steps.map((step) => `${id} ${step}`) : [id]);
    const ofKind = [...counts].filter(([name]) => name.startsWith(`${kind} `));
    const came = new Map(ofKind.map(([name, n]) => [name.slice(kind.length + 1), n]));
    const asked = new Set([...taken, ...open].flatMap(parts));
    return {
      ...head,
      lost: taken.flatMap(parts).filter((id) => !came.has(id)),
      came: came.size,
      again: [...came.values()].reduce((sum, n) => sum + n - 1, 0),
      strange: [...came.keys()].filter((id) => !asked.has(id)),
    };
  }
}

function nothingCame(): Came {
  return { counts: new Map(), readTo: new Map() };
}

function timeout(ms: number): { readonly fired: Promise<'late'>; clear(): void } {
  let timer!: NodeJS.Timeout;
  const fired = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), ms)));
  return { fired, clear: () => clearTimeout(timer) };
}

/** The process to kill; undefined while it is not there. */
function victim(what: Victim, { engines, services }: SupervisorState): number | undefined {
  if (what === 'engine') {
    const serving = engines.filter(({ state }) => state === 'listening');
    // Where its deployment is quarantined after the first kills, the engine that serves it.
    return (serving.find(({ role }) => role === 'quarantine') ?? serving[0])?.pid;
  }
  const name = { Postgres: 'postgres', broker: 'broker', 'database service': 'databases' }[what];
  const service = services.find((each) => each.name === name && each.state === 'ready');
  if (service?.pid == null) return undefined;
  return what === 'broker' ? service.pid : childOf(service.pid);
}
