// Durable objects that run on our engine and on miniflare, whose answers are compared: part of the suite `objects`. A
// file of test/objects/ is one group of cases.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tmpdir } from 'node:os';
import { mkdtemp, rm } from 'node:fs/promises';
import { defaultLimits } from '#core/limits.ts';
import { openEventsSqlite } from '#runtime/stores/event-stores-sqlite.ts';
import { startDatabases } from './databases.ts';
import { startHandler } from './handler.ts';
import { noStores } from './no-stores.ts';

/** The body of an async function, whose value is compared as JSON; `differs`: ours is another one on purpose. */
type ObjectCase = string | { readonly run: string; readonly differs: { readonly why: string; readonly ours: unknown } };

type Cases = Readonly<Record<string, ObjectCase>>;
type Ask = (path: string) => Promise<unknown>;

const COMPATIBILITY_DATE = '2026-07-01';

/** Values that JSON lacks are written as text, so that they can be compared. */
const SHOWN = `
function shown(value) {
  if (value === undefined) return '<undefined>';
  if (typeof value === 'bigint') return value + 'n';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') return '<function>';
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Date) return 'Date ' + value.getTime();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Map) return { map: [...value].map(shown) };
  if (value instanceof Set) return { set: [...value].map(shown) };
  if (value instanceof Error) return { error: value.name, message: value.message };
  if (value instanceof ArrayBuffer) return { buffer: [...new Uint8Array(value)] };
  if (ArrayBuffer.isView(value)) return { [value.constructor.name]: [...value].map(shown) };
  if (Array.isArray(value)) return Array.from(value, shown);
  return Object.fromEntries(Object.keys(value).map((key) => [key, shown(value[key])]));
}
const caught = async (run) => {
  try {
    return await run();
  } catch (error) {
    return [error?.name, String(error?.message)];
  }
};`;

const bodyOf = (one: ObjectCase): string => (typeof one === 'string' ? one : one.run);

function workerOf(source: string, cases: Cases): string {
  const bodies = Object.values(cases).map((one) => `async (env, ctx, request) => {\n${bodyOf(one)}\n}`);
  return `${source}
${SHOWN}
const cases = [${bodies.join(',\n')}];
export default {
  async fetch(request, env, ctx) {
    try {
      return Response.json({ value: shown(await cases[Number(new URL(request.url).pathname.slice(1))](env, ctx, request)) });
    } catch (error) {
      return Response.json({ threw: error?.name ?? typeof error, message: String(error?.message ?? error) });
    }
  },
};`;
}

async function startMiniflare(
  contents: string,
  objects: Readonly<Record<string, string>>,
): Promise<{ ask: Ask; close(): Promise<void> }> {
  const require = createRequire(join(import.meta.dirname, '../../bench/package.json'));
  const { Miniflare } = (await import(pathToFileURL(require.resolve('miniflare')).href)) as {
    Miniflare: new (options: object) => {
      dispatchFetch(url: string): Promise<Response>;
      dispose(): Promise<void>;
    };
  };
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents }],
    compatibilityDate: COMPATIBILITY_DATE,
    durableObjects: Object.fromEntries(
      Object.entries(objects).map(([binding, className]) => [binding, { className, useSQLite: true }]),
    ),
  });
  return {
    ask: async (path) => (await miniflare.dispatchFetch(`http://caller.localhost${path}`)).json(),
    close: () => miniflare.dispose(),
  };
}

async function startOurs(
  source: string,
  objects: Readonly<Record<string, string>>,
): Promise<{ ask: Ask; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  const databases = await startDatabases();
  const limits = defaultLimits.delivery;
  const events = openEventsSqlite({ file: join(folder, 'events.sqlite'), limits });
  const handler = await startHandler(
    {
      caller: {
        files: { 'src/index.js': source },
        yaml: `compatibility_date: '${COMPATIBILITY_DATE}'\nobject: ${JSON.stringify(objects)}\n`,
      },
    },
    {},
    { stores: { ...noStores, database: databases.client, events: { ...events, limits } } },
  );
  return {
    async ask(path) {
      const answer = await handler.fetch('caller', path);
      return answer.status === 200 ? answer.json() : { status: answer.status, text: answer.text };
    },
    async close() {
      await handler.close();
      await events.close();
      await databases.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Runs each case in a worker with these classes, on both, and compares what they answer. */
export function runObjects(
  name: string,
  source: string,
  objects: Readonly<Record<string, string>>,
  cases: Cases,
): void {
  const worker = workerOf(source, cases);
  let ours: { ask: Ask; close(): Promise<void> };
  let theirs: { ask: Ask; close(): Promise<void> };
  const counts = { equal: 0, different: 0 };
  before(async () => {
    [theirs, ours] = await Promise.all([startMiniflare(worker, objects), startOurs(worker, objects)]);
  });
  after(async () => {
    await Promise.all([theirs.close(), ours.close()]);
    console.log(`${name}: ${counts.equal} cases equal, ${counts.different} different on purpose`);
  });
  for (const [index, [title, one]] of Object.entries(cases).entries()) {
    test(`${name}: ${title}`, async () => {
      const [answer, reference] = [await ours.ask(`/${index}`), await theirs.ask(`/${index}`)];
      if (typeof one === 'string') {
        assert.deepEqual(answer, reference);
        counts.equal++;
        return;
      }
      assert.deepEqual(answer, one.differs.ours);
      assert.notDeepEqual(answer, reference, 'It does not differ any more');
      counts.different++;
    });
  }
}

/** Runs each case inside of a new object: its body has `ctx`, `storage`, `sql` and `env`. */
export function runLab(name: string, cases: Cases): void {
  const bodies = Object.values(cases).map((one) => `async (ctx, storage, sql, env) => {\n${bodyOf(one)}\n}`);
  const source = `
import { DurableObject } from 'cloudflare:workers';
const labs = [${bodies.join(',\n')}];
export class Lab extends DurableObject {
  run(index) {
    return labs[index](this.ctx, this.ctx.storage, this.ctx.storage.sql, this.env);
  }
  alarm() {}
}`;
  const outside = Object.entries(cases).map(([title, one], index) => {
    const run = `return env.LAB.getByName('${name} ${index}').run(${index});`;
    return [title, typeof one === 'string' ? run : { run, differs: one.differs }] as const;
  });
  runObjects(name, source, { LAB: 'Lab' }, Object.fromEntries(outside));
}
