// packages/types as a user's project sees it: generated env.d.ts, a worker that uses every binding, TypeScript with
// `lib: ["es2024"]` and no skipLibCheck.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { environmentTypes } from '#core/config/environment-types.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { addToTsconfig } from '#core/config/tsconfig.ts';
import { checkProject, linesOf, type Said } from './users-project.ts';

const yaml = `
db: { DB: users }
queue: { MAIL: mail }
workflow: { ORDER: order }
state: { KV: settings }
fs: { FILES: uploads }
timer: { TIMER: reminders }
cache: { CACHE: pages }
sandbox: { BOX: builds }
auth: { binding: PLATFORM_AUTH }
assets: { binding: ASSETS }
ai: true
`;

const worker = `
import type { AiResponse, ExecutionContext, PlatformWorker, QueueMessage, StateManager } from '@platform-run/types';
import page from './page.html';
import query from './query.sql';
import note from './note.txt';
import raw from './index.ts?raw';
import wasm from './add.wasm';

const texts: string[] = [page, query, note, raw];

async function use(env: PlatformEnv, request: Request, ctx: ExecutionContext): Promise<Response> {
  const { results } = await env.DB.prepare('SELECT ?').bind(1, null, 'a', new Uint8Array(1)).all<{ id: number }>();
  const id: number | undefined = results[0]?.id;
  const variable: string | undefined = process.env['NAME'] ?? process.env.NAME;
  const name: string | null = await env.DB.prepare('SELECT 1').first<string>('name');
  const row: { id: number } | null = await env.DB.prepare('SELECT 1').first<{ id: number }>();
  await env.DB.batch([env.DB.prepare('SELECT 1')]);
  const left: number = await env.DB.transaction(async (tx) => (await tx.prepare('SELECT 1').bind(1n, [1, 2]).first<number>('n')) ?? 0);
  const all: { messageIds: string[] } = await env.DB.transaction((tx) => tx.sendBatch(env.MAIL, [{ payload: { to: 'a' }, delaySeconds: 5 }]));
  const sent: { messageId: string } = await env.DB.transaction((tx) => tx.send(env.MAIL, { to: 'a' }, { delaySeconds: 5 }));
  const [columns] = await env.DB.prepare('SELECT 1').raw({ columnNames: true });
  const first: string | undefined = columns[0];
  const { messageId }: { messageId: string } = await env.MAIL.send({ to: 'a' }, { delaySeconds: 5 });
  const { executionId } = await env.ORDER.trigger({ order: 1 }, { id: 'x' });
  const run = await env.ORDER.getExecution(executionId);
  const status: 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' | undefined = run?.status;
  const theme: string | null = await env.KV.get('theme');
  const both: Map<string, string | null> = await env.KV.get(['a', 'b']);
  const parsed = await env.KV.get<{ a: number }>('x', 'json');
  const { value, metadata } = await env.KV.getWithMetadata<{ tag: string }>('x');
  const list = await env.KV.list();
  if (!list.list_complete) await env.KV.list({ cursor: list.cursor });
  const cached: { a: number } | null = await env.KV.get<{ a: number }>('x', { type: 'json', cacheTtl: 60 });
  const versions = await env.KV.getWithMetadata(['a', 'b'], 'json');
  await env.MAIL.sendBatch([{ payload: 1, dedupeId: 'a' }, { body: 2, orderingKey: 'b' }], { delaySeconds: 1 });
  const { backlogCount, oldestMessageTimestamp } = await env.MAIL.metrics();
  const { executions } = await env.ORDER.list({ status: 'paused', limit: 5 });
  await env.ORDER.restart(executionId, { fromStep: 'pay' });
  const other = await env.ORDER.create({ id: 'y', params: 1 });
  console.log(cached?.a, versions.get('a')?.version, backlogCount, oldestMessageTimestamp?.getTime(), executions[0]?.id, (await other.status()).status);
  await env.KV.update('x', { $inc: { n: 1 }, $push: { list: 'a' }, $unset: { b: true }, $set: { 'a.b': 1 }, $pop: { c: -1 } });
  await env.FILES.put('a', request.body ?? 'nothing', { contentType: 'text/plain' });
  const file = await env.FILES.get('a', { range: { offset: 1, length: 2 } });
  const bytes: Uint8Array | undefined = await file?.bytes();
  await env.TIMER.set('t', new Date(), { payload: 1, intervalMs: 1000 });
  await env.TIMER.set('t', { afterMs: 5 }, 'a payload');
  await env.CACHE.set('a', 'b', { ttl: 60 });
  const box = env.BOX.get('one');
  const { stdout, durationMs, truncated, timedOut } = await box.exec('ls', { cwd: '/', timeoutMs: 1000, stdin: 'x' });
  await box.exec(['ls', '-l'], { signal: request.signal, onOutput: (stream, data) => console.log(stream, data) });
  const output: ReadableStream<Uint8Array> = await box.execStream('ls');
  const content: string = (await box.readFile('a', { encoding: 'base64' })).content;
  await box.writeFile('a', await box.readFileStream('b'), { mode: 0o755 });
  await box.writeFile('a', await box.readFileBytes('b'));
  await box.moveFile('a', 'b');
  await box.deleteFile('b', { recursive: true });
  const kinds = (await box.listFiles('.', { recursive: true, includeHidden: true })).map(({ type, size }) => [type, size]);
  const watched: ReadableStream<Uint8Array> = await box.watch('.', { recursive: true });
  const started = await box.startProcess('npm start', { processId: 'web', env: { PORT: '8080' } });
  await box.waitForPort(8080, { timeoutMs: 1000 });
  const served: Response = await box.fetch(8080, '/', { method: 'POST', body: 'x' });
  await box.killProcess(started.id, 'SIGINT');
  const session = await box.createSession({ cwd: 'app' });
  await session.exec(session.sessionId);
  const { items, cursor: nextBox } = await env.BOX.list({ prefix: 'a' });
  const state: string | undefined = (await box.info())?.state ?? items[0]?.state;
  await box.suspend();
  await box.destroy();
  console.log(durationMs, truncated, timedOut, output, content, kinds, watched, served, nextBox, state);
  const user = await env.PLATFORM_AUTH.getUser('token');
  const answer: AiResponse = await env.AI.run('auto', { prompt: 'hi' });
  const stream: ReadableStream<Uint8Array> = await env.AI.run('auto', { messages: [{ role: 'user', content: 'hi' }], stream: true });
  const url: string = env.PLATFORM_AI_URL + env.PLATFORM_AI_TOKEN + (env.vars['NAME'] ?? '');
  ctx.waitUntil(fetch(url));
  ctx.passThroughOnException();
  const asset: Response = await env.ASSETS.fetch(request);
  console.log(variable, id, name, row, left, first, sent, messageId, status, theme, both, parsed?.a, value, metadata?.tag, bytes, stdout, user?.email, answer.choices, stream, asset);
  return Response.json({ texts });
}

async function web(request: Request): Promise<Response> {
  const url = new URL(request.url);
  for (const [key, value] of url.searchParams) console.log(key, value);
  for (const [key, value] of request.headers) console.log(key, value);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(crypto.randomUUID()));
  const { readable, writable } = new TransformStream<string, string>();
  for await (const chunk of readable) console.log(chunk);
  await new Blob(['x']).stream().pipeTo(new WritableStream());
  const abort = AbortSignal.any([AbortSignal.timeout(5), request.signal]);
  setTimeout(() => abort.throwIfAborted(), 5);
  queueMicrotask(() => structuredClone(digest));
  const form = new FormData();
  form.set('a', new File(['x'], 'x.txt'));
  const instance: WebAssembly.Instance = await WebAssembly.instantiate(wasm);
  return new Response(readable.pipeThrough(new TextEncoderStream()), { headers: new Headers({ a: atob('') }), status: instance ? 200 : writable ? 201 : 500 });
}

async function keep(state: StateManager): Promise<number> {
  const { n } = await state.update<{ n: number }>('a', { $inc: { n: 1 } });
  return n;
}

export default {
  async fetch(request, env, ctx) {
    const method: string = request.method;
    return method === 'GET' ? web(request) : use(env, request, ctx);
  },
  async message(event: QueueMessage<{ to: string }>, env) {
    if (event.attempt > 3 || event.attempts > 3) event.ack();
    else await env.KV.put('to', event.payload.to);
  },
  async queue(batch) {
    for (const { body, attempts, timestamp, retry } of batch.messages) if (attempts > timestamp.getTime()) retry({ delaySeconds: body.delay });
    batch.ackAll();
  },
  async timer(event) {
    console.log(event.id, event.scheduledTime + (event.intervalMs ?? 0));
  },
  async scheduled(event, _env, ctx) {
    event.noRetry();
    console.log(event.name, event.type);
    ctx.waitUntil(Promise.resolve(event.cron));
  },
  workflows: {
    order: {
      async handler({ input, step, log, env, executionId }) {
        const total: number = await step.run('sum', () => 1 + 1, { retries: 1 });
        await step.sleep(1000);
        await step.sleep('a while', '5 minutes');
        await step.do('other', { retries: { limit: 2, delay: '1 second', backoff: 'linear' }, timeout: '1 minute' }, () => 1);
        await step.run('again', () => 1, { backoff: { type: 'constant', delayMs: 10 } });
        log('done', { input, total, executionId });
        return (await env.DB.prepare('SELECT 1').all()).results;
      },
    },
  },
} satisfies PlatformWorker<PlatformEnv>;

export { keep };
`;

function generated(text: string): string {
  const { config, problems } = parseProjectConfig(text, { file: 'platform.yaml' });
  assert.deepEqual(problems, []);
  return environmentTypes(config!);
}

function tsconfig(): string {
  const made = addToTsconfig(null, { environmentFile: 'env.d.ts', file: 'tsconfig.json' });
  assert.ok('text' in made);
  return made.text.replace('"skipLibCheck": true', '"skipLibCheck": false');
}

const mistakes = [
  'env.OTHER;',
  'env.vars.A.toFixed();',
  'env.DB.prepare(5);',
  'env.DB.prepare("").bind({});',
  'env.KV.put("a", 5);',
  'env.KV.update("a", { $inc: { n: "1" } });',
  'env.MAIL.send({}, { delay: 5 });',
  'env.AI.run("auto", {});',
  'env.AI.run("auto", { prompt: "a", messages: [] });',
  'document.title;',
];

const badHandler = `import type { PlatformWorker } from '@platform-run/types';
export default { fetch: () => 'text' } satisfies PlatformWorker<PlatformEnv>;
`;

let said: Said;
before(async () => {
  const files = {
    'env.d.ts': generated(yaml),
    'tsconfig.json': tsconfig(),
    'src/index.ts': worker,
    'src/mistakes.ts': `export function use(env: PlatformEnv) {\n${mistakes.join('\n')}\n}\n`,
    'src/handler.ts': badHandler,
  };
  said = await checkProject(files, ['types']);
});

test('a worker that uses every binding and the Web APIs type-checks with lib es2024', () => {
  assert.equal(said('env.d.ts'), '');
  assert.equal(said('src/index.ts'), '');
});

test('mistakes are type errors', () => {
  const found = said('src/mistakes.ts');
  assert.deepEqual(
    linesOf(found, 'src/mistakes.ts').map((line) => mistakes[line - 2]),
    mistakes,
    found,
  );
});

test('a handler that returns no Response is a type error', () => {
  assert.match(
    said('src/handler.ts'),
    /^src\/handler\.ts\(2,[\s\S]*Type 'string' is not assignable to type '[^']*Response/,
  );
});

test('nodenext resolution and exactOptionalPropertyTypes are content too', async () => {
  const strict = tsconfig()
    .replace(
      '"module": "esnext"',
      '"module": "nodenext", "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true',
    )
    .replace('"moduleResolution": "bundler"', '"moduleResolution": "nodenext", "allowImportingTsExtensions": true');
  const files = {
    'package.json': '{"type":"module"}',
    'env.d.ts': generated(yaml),
    'tsconfig.json': strict,
    'src/index.ts': worker,
  };
  await expectNothing(files, []);
});

/** Of every file of a project. */
async function expectNothing(files: Readonly<Record<string, string>>, libraries: readonly string[]): Promise<void> {
  const found = await checkProject(files, ['types'], libraries);
  for (const file of Object.keys(files)) assert.equal(found(file), '');
}

// What is missing: the metrics in the answers of a queue's send, and deleteBatch, delete and subscribe of workflows.
const shapes = `
import type * as own from '@platform-run/types';

export function check(env: PlatformEnv, d1: D1Database, kv: KVNamespace, r2: R2Bucket, message: own.QueueBatchMessage<string>): unknown[] {
  const database: D1Database = env.DB;
  const namespace: KVNamespace = env.KV;
  const bucket: R2Bucket = env.FILES;
  const queue: Omit<Queue, 'send' | 'sendBatch'> = env.MAIL;
  const received: Message<string> = message;
  const parameters: (typeof env.MAIL.sendBatch extends (messages: Iterable<MessageSendRequest>) => unknown ? true : never)[] = [true];
  type Instance = Pick<WorkflowInstance, 'id' | 'status' | 'pause' | 'resume' | 'terminate' | 'restart' | 'sendEvent'>;
  const workflow: { create(options?: WorkflowInstanceCreateOptions): Promise<Instance>; get(id: string): Promise<Instance> } = env.ORDER;
  const back: [Omit<own.Database, 'transaction'>, Pick<own.StateBinding, 'get' | 'put' | 'delete' | 'list'>, Pick<own.FileStorageBinding, 'delete'>] = [d1, kv, r2];
  return [database, namespace, bucket, queue, received, parameters, workflow, back];
}
`;

test('bindings have the types of D1, Workers KV, R2, Queues and Workflows where their shapes meet', async () => {
  const made = tsconfig()
    .replace('"skipLibCheck": false', '"skipLibCheck": true')
    .replace('"@platform-run/types"', '"@platform-run/types", "@cloudflare/workers-types"');
  await expectNothing({ 'env.d.ts': generated(yaml), 'tsconfig.json': made, 'src/index.ts': shapes }, ['@cloudflare']);
});

test('process.env has its type without the types of Node, and beside them', async () => {
  const made = tsconfig()
    .replace('"skipLibCheck": false', '"skipLibCheck": true')
    .replace('"@platform-run/types"', '"@platform-run/types", "node"');
  const source = 'export const name: string | undefined = process.env["NAME"];\n';
  await expectNothing({ 'env.d.ts': generated(yaml), 'tsconfig.json': made, 'src/index.ts': source }, ['@types']);
});

test('the package has declarations alone, every one reachable from its index, and no dependency', async () => {
  const folder = path.join(root, 'packages/types');
  const files = (await readdir(folder)).sort();
  const declarations = files.filter((name) => name.endsWith('.d.ts') && name !== 'index.d.ts');
  assert.deepEqual(files, [...declarations, 'README.md', 'index.d.ts', 'package.json'].sort());
  const index = await readFile(path.join(folder, 'index.d.ts'), 'utf8');
  assert.deepEqual(
    [...index.matchAll(/from '\.\/(.+)'/g)].map((match) => match[1]),
    declarations,
  );
  const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  assert.equal(manifest['name'], '@platform-run/types');
  for (const key of ['dependencies', 'peerDependencies', 'optionalDependencies', 'scripts'])
    assert.equal(manifest[key], undefined);
});
