// A project that writes numbered entries into each binding that keeps something, and says what it has of them: for
// test/durability/restore.test.ts. An entry is a row of two tables in one transaction, a value of state, a file, and a
// message whose consumer notes it.
import { request } from 'node:http';
import { until } from './until.ts';

/** The files of the project; `text` is what `GET /` answers, with the secret variable behind it. */
export const ledgerFiles = (text: string): Record<string, string> => ({
  'platform.yaml':
    'kind: worker\nmain: src/index.js\ndb: { DB: main }\nstate: { KV: ledger }\nfs: { FILES: papers }\nqueue: { JOBS: jobs }\nauth: { binding: AUTH }\n',
  'src/index.js': `
const sha256 = async (text) => {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
const valueOf = (n) => sha256('entry ' + n);
const rows = async (env, sql, ...values) => (await env.DB.prepare(sql).bind(...values).all()).results;
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const [from, to] = ['from', 'to'].map((name) => Number(searchParams.get(name)));
    if (pathname === '/prepare')
      for (const table of ['debit (n INTEGER PRIMARY KEY, value)', 'credit (n INTEGER PRIMARY KEY, value)', 'came (n)'])
        await env.DB.prepare('CREATE TABLE IF NOT EXISTS ' + table).run();
    if (pathname === '/write') {
      const value = await valueOf(from);
      await env.DB.batch(['debit', 'credit'].map((table) =>
        env.DB.prepare('INSERT OR IGNORE INTO ' + table + ' VALUES (?, ?)').bind(from, value)));
      await env.KV.put('n' + from, value);
      await env.FILES.put('papers/' + from, value.repeat(1 + from % 40));
      await env.JOBS.send(from);
    }
    if (pathname === '/entries') {
      const tables = {};
      for (const table of ['debit', 'credit'])
        tables[table] = await rows(env, 'SELECT n, value FROM ' + table + ' WHERE n BETWEEN ? AND ? ORDER BY n', from, to);
      const numbers = Array.from({ length: to - from + 1 }, (_, at) => from + at);
      const state = await Promise.all(numbers.map((n) => env.KV.get('n' + n)));
      const files = await Promise.all(numbers.map(async (n) => sha256((await (await env.FILES.get('papers/' + n))?.text()) ?? '')));
      const came = await rows(env, 'SELECT DISTINCT n FROM came WHERE n BETWEEN ? AND ? ORDER BY n', from, to);
      return Response.json({ ...tables, state, files, came: came.map(({ n }) => n) });
    }
    if (pathname === '/whole') {
      const halves = await rows(env, 'SELECT n FROM debit WHERE n NOT IN (SELECT n FROM credit) UNION SELECT n FROM credit WHERE n NOT IN (SELECT n FROM debit)');
      const [check] = await rows(env, 'PRAGMA integrity_check');
      return Response.json({ halves, check: Object.values(check)[0] });
    }
    return new Response(${JSON.stringify(text)} + ' ' + env.SECRET);
  },
  message: (event, env) => env.DB.prepare('INSERT INTO came VALUES (?)').bind(event.payload).run(),
};
`,
});

const LANES = 3;
const PAGE = 40;

/** What a worker has of some entries. */
export interface Entries {
  readonly debit: readonly unknown[];
  readonly credit: readonly unknown[];
  readonly state: readonly (string | null)[];
  readonly files: readonly string[];
  /** Whose message was consumed. */
  readonly came: readonly number[];
}

interface LedgerAnswer {
  readonly status: number;
  readonly text: string;
}

/** Asks a project over the handler. */
export function ask(port: number, label: string, path: string, method = 'GET', body = ''): Promise<LedgerAnswer> {
  return new Promise((resolve, reject) => {
    const host = `${label}.localhost:${port}`;
    const headers = { host, origin: `http://${host}`, 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function json(port: number, label: string, path: string): Promise<unknown> {
  const { status, text } = await ask(port, label, path);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text);
}

/** Entries 1 to `last`, once the message of each has come: one that was in the queue is delivered meanwhile. */
export async function entriesUpTo(port: number, label: string, last: number): Promise<Entries> {
  const all: { [Kind in keyof Entries]: unknown[] } = { debit: [], credit: [], state: [], files: [], came: [] };
  for (let from = 1; from <= last; from += PAGE) {
    const to = Math.min(last, from + PAGE - 1);
    const page = await until(async () => {
      const found = (await json(port, label, `/entries?from=${from}&to=${to}`)) as Entries;
      return found.came.length === to - from + 1 && found;
    });
    for (const kind of Object.keys(all) as (keyof Entries)[]) all[kind].push(...page[kind]);
  }
  return all as unknown as Entries;
}

/** Rows of one table and not of the other, and what SQLite says of its file. */
export const wholeness = (port: number, label: string): Promise<unknown> => json(port, label, '/whole');

/** Writes entries until it is stopped. */
interface LedgerLoad {
  /** All up to this number are acknowledged. */
  readonly acknowledged: number;
  /** Answers that were none of success. */
  readonly failures: readonly string[];
  /** Resolves when so many more are acknowledged. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param first number of the first entry. */
export function startLedgerLoad(port: number, label: string, first = 1): LedgerLoad {
  const failures: string[] = [];
  const done = new Set<number>();
  let acknowledged = first - 1;
  let next = first;
  let running = true;
  const lanes = Array.from({ length: LANES }, async () => {
    while (running) {
      const n = next++;
      const { status, text } = await ask(port, label, `/write?from=${n}`, 'POST').catch((error: Error) => ({
        status: 0,
        text: error.message,
      }));
      if (status === 200) done.add(n);
      else failures.push(`${n}: ${status} ${text.slice(0, 200)}`);
      while (done.delete(acknowledged + 1)) acknowledged++;
    }
  });
  return {
    get acknowledged() {
      return acknowledged;
    },
    failures,
    async more(count) {
      const enough = acknowledged + count;
      await until(() => Promise.resolve(acknowledged >= enough || failures.length > 0));
    },
    async stop() {
      running = false;
      await Promise.all(lanes);
    },
  };
}
