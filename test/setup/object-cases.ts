// Workers that run on our engine and on miniflare, whose answers are compared: the suite `objects`. A file of
// test/objects/ is one group of cases over the same workers.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { serviceText, type WrittenService } from '#core/bindings/service.ts';
import { startHandler, type TestHandler } from './handler.ts';

/** A worker of a group. */
interface GroupWorker {
  /** An ES module. */
  readonly source: string;
  /** Binding name -> what it calls. */
  readonly services?: Readonly<Record<string, WrittenService>>;
  /** Binding name -> class of Durable Objects that it exports. */
  readonly objects?: Readonly<Record<string, string>>;
}

/** A case: the body of an async function of `(env, ctx, request)`, whose value is compared as JSON. */
type Case = string | { readonly run: string; readonly differs: { readonly why: string; readonly ours: unknown } };

/** Cases over the same workers. */
interface Group {
  readonly name: string;
  /** The cases run in the worker `caller`. */
  readonly workers: { readonly caller: GroupWorker } & Readonly<Record<string, GroupWorker>>;
  readonly cases: Readonly<Record<string, Case>>;
}

const COMPATIBILITY_DATE = '2026-07-01';

/** Values that JSON lacks are written as text, so that they can be compared. */
const shown = `
function shown(value) {
  if (value === undefined) return '<undefined>';
  if (typeof value === 'bigint') return value + 'n';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') return '<function>';
  if (typeof value === 'symbol') return String(value);
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
}`;

function callerSource({ workers, cases }: Group): string {
  const bodies = Object.values(cases).map(
    (one) => `async (env, ctx, request) => {\n${typeof one === 'string' ? one : one.run}\n}`,
  );
  return `${workers.caller.source}
${shown}
const cases = [${bodies.join(',\n')}];
export default {
  async fetch(request, env, ctx) {
    const path = new URL(request.url).pathname;
    if (!/^\\/\\d+$/.test(path)) return new Response('a page of the caller');
    try {
      return Response.json({ value: shown(await cases[Number(path.slice(1))](env, ctx, request)) });
    } catch (error) {
      return Response.json({ threw: error?.name ?? typeof error, message: String(error?.message ?? error) });
    }
  },
};`;
}

function yamlOf({ services = {}, objects = {} }: GroupWorker): string {
  const map = (key: string, of: Readonly<Record<string, unknown>>): string =>
    Object.keys(of).length === 0 ? '' : `${key}: ${JSON.stringify(of)}\n`;
  return `compatibility_date: ${COMPATIBILITY_DATE}\n${map('service', services)}${map('object', objects)}`;
}

type Ask = (path: string) => Promise<unknown>;

async function startMiniflare(
  sources: ReadonlyMap<string, string>,
  group: Group,
): Promise<{ ask: Ask; close(): Promise<void> }> {
  const require = createRequire(join(import.meta.dirname, '../../bench/package.json'));
  const { Miniflare } = (await import(pathToFileURL(require.resolve('miniflare')).href)) as {
    Miniflare: new (options: object) => {
      dispatchFetch(url: string): Promise<Response>;
      dispose(): Promise<void>;
    };
  };
  const target = (written: WrittenService): object => {
    const [name, entrypoint] = serviceText(written).split('#');
    return { name, ...(entrypoint === undefined ? {} : { entrypoint }) };
  };
  const miniflare = new Miniflare({
    workers: Array.from(sources, ([name, contents]) => {
      const { services = {}, objects = {} } = group.workers[name]!;
      return {
        name,
        modules: [{ type: 'ESModule', path: 'worker.js', contents }],
        compatibilityDate: COMPATIBILITY_DATE,
        serviceBindings: Object.fromEntries(Object.entries(services).map(([binding, to]) => [binding, target(to)])),
        durableObjects: Object.fromEntries(
          Object.entries(objects).map(([binding, className]) => [binding, { className, useSQLite: true }]),
        ),
      };
    }),
  });
  return {
    ask: async (path) => (await miniflare.dispatchFetch(`http://caller.localhost${path}`)).json(),
    close: () => miniflare.dispose(),
  };
}

/** Runs each case on both and compares what they answer; prints a table of the group. */
export function runGroup(group: Group): void {
  const sources = new Map(Object.entries(group.workers).map(([name, { source }]) => [name, source]));
  sources.set('caller', callerSource(group));
  let ours: TestHandler;
  let theirs: Awaited<ReturnType<typeof startMiniflare>>;
  const counts = { equal: 0, different: 0 };
  before(async () => {
    [theirs, ours] = await Promise.all([
      startMiniflare(sources, group),
      startHandler(
        Object.fromEntries(
          Array.from(sources, ([name, source]) => [
            name,
            { files: { 'src/index.js': source }, yaml: yamlOf(group.workers[name]!) },
          ]),
        ),
      ),
    ]);
  });
  after(async () => {
    await Promise.all([theirs.close(), ours.close()]);
    console.log(`${group.name}: ${counts.equal} cases equal, ${counts.different} different on purpose`);
  });
  for (const [index, [title, one]] of Object.entries(group.cases).entries()) {
    test(`${group.name}: ${title}`, async () => {
      const asked = await ours.fetch('caller', `/${index}`);
      const answer: unknown = asked.status === 200 ? asked.json() : { status: asked.status, text: asked.text };
      const reference = await theirs.ask(`/${index}`);
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
