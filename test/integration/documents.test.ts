// examples/documents in `platform dev`: documents in, a question, the answer with its sources. On the mock model, or on
// those of a file: `DOCUMENTS_ENV=<.env> npm test -- documents`, with PLATFORM_DEV_AI_URL, PLATFORM_DEV_AI_TOKEN,
// EMBEDDING_MODEL and CHAT_MODEL.
import assert from 'node:assert/strict';
import { copyFile, cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

const root = join(import.meta.dirname, '../..');
const modelsFile = process.env['DOCUMENTS_ENV'];

let folder: string;
let dev: TestDev;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'documents-'));
  await cp(join(root, 'examples/documents'), folder, {
    recursive: true,
    filter: (path) => !/[/\\](?:\.platform|node_modules)$/.test(path),
  });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  if (modelsFile !== undefined) await copyFile(modelsFile, join(folder, '.env'));
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

interface Answer {
  readonly answer: string;
  readonly sources: readonly { readonly title: string; readonly part: number; readonly text: string }[];
}

async function call(path: string, body: unknown): Promise<[status: number, body: unknown]> {
  const response = await dev.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return [response.status, response.json()];
}

const garden = 'The garden closes at six in winter, and at nine in summer.';
const tea = 'Tea is served in the library at four.';

test('a question is answered from the documents that are near to it, and they are named', async () => {
  assert.deepEqual(await call('/api/ask', { question: 'When is tea served?' }), [
    200,
    { answer: 'There are no documents yet.', sources: [] },
  ]);
  const long = `${'The house has forty rooms and a cellar. '.repeat(19)}\n\n${garden}`;
  assert.deepEqual(await call('/api/documents', { title: 'Garden', text: long }), [201, { title: 'Garden', parts: 2 }]);
  assert.deepEqual(await call('/api/documents', { title: 'Tea', text: tea }), [201, { title: 'Tea', parts: 1 }]);
  const [status, { answer, sources }] = (await call('/api/ask', {
    question: 'When is tea served in the library?',
  })) as [number, Answer];
  assert.equal(status, 200);
  assert.deepEqual([sources[0]!.title, sources[0]!.part, sources[0]!.text], ['Tea', 1, tea]);
  assert.equal(sources.length, 3);
  // The mock repeats the prompt; a model answers from it.
  assert.match(
    answer,
    modelsFile === undefined ? /^\[1\] Tea: Tea is served in the library at four\.\n\[2\]/ : /four|4/,
  );
  const [, found] = (await call('/api/ask', { question: 'When does the garden close in winter?' })) as [number, Answer];
  assert.deepEqual([found.sources[0]!.title, found.sources[0]!.part], ['Garden', 2]);
});

test('a document of the same title takes the place of the first', async () => {
  assert.deepEqual(await call('/api/documents', { title: 'Tea', text: 'Tea is served in the garden at five.' }), [
    201,
    { title: 'Tea', parts: 1 },
  ]);
  assert.deepEqual((await dev.fetch('/api/documents')).json(), [
    { title: 'Garden', parts: 2 },
    { title: 'Tea', parts: 1 },
  ]);
  const [, { sources }] = (await call('/api/ask', { question: 'Tea is served at' })) as [number, Answer];
  assert.equal(sources[0]!.text, 'Tea is served in the garden at five.');
  assert.equal(sources.length, 3);
});

test('what is no document and no question is refused with what it must be', async () => {
  assert.deepEqual(await call('/api/documents', { title: 'Tea' }), [
    400,
    { error: 'The body must be JSON with "text": a text of up to 1000000 characters' },
  ]);
  assert.deepEqual(await call('/api/ask', { question: ' ' }), [
    400,
    { error: 'The body must be JSON with "question": a text of up to 2000 characters' },
  ]);
  assert.equal((await call('/api/other', {}))[0], 404);
});
