// Each option that the published types of Cloudflare's bindings name, given to ours: it has its effect, or is refused
// by its name, or docs/bindings.md says that it has none. An option that is new in those types fails this file.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

/** What a call gives, or the error that it ends with. */
type Case = readonly [code: string, expected: unknown];

/** By interface and option of the published types. */
const options: Readonly<Record<string, Readonly<Record<string, Case | 'no effect'>>>> = {
  KVNamespaceGetOptions: {
    type: [`await KV.put('j', '{"a":1}'); return KV.get('j', { type: 'json' })`, { a: 1 }],
    cacheTtl: 'no effect',
  },
  KVNamespaceListOptions: {
    limit: [
      `await KV.put('l1', ''); await KV.put('l2', ''); return (await KV.list({ prefix: 'l', limit: 1 })).keys.length`,
      1,
    ],
    prefix: [`await KV.put('p1', ''); return (await KV.list({ prefix: 'p1' })).keys.map(({ name }) => name)`, ['p1']],
    cursor: [
      `for (const key of ['c1', 'c2']) await KV.put(key, ''); const { cursor } = await KV.list({ prefix: 'c', limit: 1 }); return (await KV.list({ prefix: 'c', cursor })).keys.map(({ name }) => name)`,
      ['c2'],
    ],
  },
  KVNamespacePutOptions: {
    expiration: [
      `await KV.put('e', '', { expiration: 4102444800 }); return (await KV.list({ prefix: 'e' })).keys[0].expiration`,
      4_102_444_800,
    ],
    expirationTtl: [
      `await KV.put('t', '', { expirationTtl: 3600 }); const { expiration } = (await KV.list({ prefix: 't' })).keys[0]; return expiration > Date.now() / 1000 && expiration <= Date.now() / 1000 + 3601`,
      true,
    ],
    metadata: [
      `await KV.put('m', '', { metadata: { a: 1 } }); return (await KV.getWithMetadata('m')).metadata`,
      { a: 1 },
    ],
  },
  R2GetOptions: {
    onlyIf: [
      `const { etag } = await FS.put('o', 'x'); return (await FS.get('o', { onlyIf: { etagDoesNotMatch: etag } })).body ?? null`,
      null,
    ],
    range: [`await FS.put('r', 'abc'); return (await FS.get('r', { range: { offset: 1, length: 1 } })).text()`, 'b'],
    ssecKey: [
      `return FS.get('x', { ssecKey: 'k' })`,
      'TypeError: get does not take ssecKey here: encryption at rest is up to the storage',
    ],
  },
  R2PutOptions: {
    onlyIf: [`await FS.put('po', 'x'); return FS.put('po', 'y', { onlyIf: { etagMatches: 'none' } })`, null],
    httpMetadata: [
      `return (await FS.put('h', 'x', { httpMetadata: { contentLanguage: 'de' } })).httpMetadata.contentLanguage`,
      'de',
    ],
    customMetadata: [`return (await FS.put('c', 'x', { customMetadata: { a: 'b' } })).customMetadata`, { a: 'b' }],
    ...Object.fromEntries(
      ['md5', 'sha1', 'sha256', 'sha384', 'sha512'].map((name) => [
        name,
        [
          `return FS.put('d', 'x', { ${name}: '${'00'.repeat({ md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 }[name]!)}' })`,
          new RegExp(name, 'i'),
        ],
      ]),
    ),
    storageClass: [
      `return FS.put('x', '', { storageClass: 'InfrequentAccess' })`,
      'TypeError: put does not take storageClass here: there is one class, Standard',
    ],
    ssecKey: [
      `return FS.put('x', '', { ssecKey: 'k' })`,
      'TypeError: put does not take ssecKey here: encryption at rest is up to the storage',
    ],
  },
  R2MultipartOptions: {
    httpMetadata: [
      `const up = await FS.createMultipartUpload('mh', { httpMetadata: { contentType: 'text/css' } }); const part = await up.uploadPart(1, 'x'); return (await up.complete([part])).httpMetadata.contentType`,
      'text/css',
    ],
    customMetadata: [
      `const up = await FS.createMultipartUpload('mc', { customMetadata: { a: 'b' } }); const part = await up.uploadPart(1, 'x'); return (await up.complete([part])).customMetadata`,
      { a: 'b' },
    ],
    storageClass: [
      `return FS.createMultipartUpload('x', { storageClass: 'Other' })`,
      'TypeError: createMultipartUpload does not take storageClass here: there is one class, Standard',
    ],
    ssecKey: [
      `return FS.createMultipartUpload('x', { ssecKey: 'k' })`,
      'TypeError: createMultipartUpload does not take ssecKey here: encryption at rest is up to the storage',
    ],
  },
  R2UploadPartOptions: {
    ssecKey: [
      `const up = await FS.createMultipartUpload('us'); return up.uploadPart(1, 'x', { ssecKey: 'k' })`,
      'TypeError: uploadPart does not take ssecKey here: encryption at rest is up to the storage',
    ],
  },
  R2ListOptions: {
    limit: [
      `await FS.put('ll/1', ''); await FS.put('ll/2', ''); return (await FS.list({ prefix: 'll/', limit: 1 })).objects.length`,
      1,
    ],
    prefix: [
      `await FS.put('lp/1', ''); return (await FS.list({ prefix: 'lp/' })).objects.map(({ key }) => key)`,
      ['lp/1'],
    ],
    cursor: [
      `for (const key of ['lc/1', 'lc/2']) await FS.put(key, ''); const { cursor } = await FS.list({ prefix: 'lc/', limit: 1 }); return (await FS.list({ prefix: 'lc/', cursor })).objects.map(({ key }) => key)`,
      ['lc/2'],
    ],
    delimiter: [
      `await FS.put('ld/a/1', ''); return (await FS.list({ prefix: 'ld/', delimiter: '/' })).delimitedPrefixes`,
      ['ld/a/'],
    ],
    startAfter: [
      `for (const key of ['ls/1', 'ls/2']) await FS.put(key, ''); return (await FS.list({ prefix: 'ls/', startAfter: 'ls/1' })).objects.map(({ key }) => key)`,
      ['ls/2'],
    ],
    include: 'no effect',
  },
  R2Conditional: {
    etagMatches: [
      `const { etag } = await FS.put('em', 'x'); return (await FS.put('em', 'y', { onlyIf: { etagMatches: etag } })).size`,
      1,
    ],
    etagDoesNotMatch: [
      `const { etag } = await FS.put('en', 'x'); return FS.put('en', 'y', { onlyIf: { etagDoesNotMatch: etag } })`,
      null,
    ],
    uploadedBefore: [
      `await FS.put('ub', 'x'); return FS.put('ub', 'y', { onlyIf: { uploadedBefore: new Date(0) } })`,
      null,
    ],
    uploadedAfter: [
      `await FS.put('ua', 'x'); return FS.put('ua', 'y', { onlyIf: { uploadedAfter: new Date(Date.now() + 60_000) } })`,
      null,
    ],
    secondsGranularity: [
      `const { uploaded } = await FS.put('sg', 'x'); const at = new Date(Math.floor(uploaded / 1000) * 1000); const ask = (secondsGranularity) => FS.put('sg', 'x', { onlyIf: { uploadedAfter: new Date(at - 1), secondsGranularity } }); return [(await ask(true)) !== null, (await FS.put('sg', 'x', { onlyIf: { uploadedAfter: new Date(+at + 999), secondsGranularity: true, uploadedBefore: new Date(+at + 500) } })) === null]`,
      [true, true],
    ],
  },
  R2HTTPMetadata: {
    ...Object.fromEntries(
      ['contentType', 'contentLanguage', 'contentDisposition', 'contentEncoding', 'cacheControl'].map((name) => [
        name,
        [`return (await FS.put('hm', 'x', { httpMetadata: { ${name}: 'v' } })).httpMetadata.${name}`, 'v'],
      ]),
    ),
    cacheExpiry: [
      `return FS.put('x', '', { httpMetadata: { cacheExpiry: new Date() } })`,
      'TypeError: put does not take cacheExpiry here: use max-age in cacheControl',
    ],
  },
  QueueSendOptions: {
    contentType: [
      `return Q.send({}, { contentType: 'text' })`,
      'TypeError: A message of contentType text must be a string',
    ],
    delaySeconds: [`return Q.send({}, { delaySeconds: -1 })`, 'TypeError: delaySeconds must be a number of at least 0'],
  },
  QueueSendBatchOptions: {
    delaySeconds: [
      `return Q.sendBatch([{ body: 1 }], { delaySeconds: -1 })`,
      'TypeError: delaySeconds must be a number of at least 0',
    ],
  },
  QueueRetryOptions: {
    delaySeconds: [`await KV.delete('retried'); await Q.send('retry'); return untilKey('retried')`, [1, 2]],
  },
  MessageSendRequest: {
    body: [`return Q.sendBatch([{ body: () => {} }])`, 'TypeError: A message must be JSON'],
    contentType: [
      `return Q.sendBatch([{ body: {}, contentType: 'text' }])`,
      'TypeError: A message of contentType text must be a string',
    ],
    delaySeconds: [
      `return Q.sendBatch([{ body: 1, delaySeconds: -1 }])`,
      'TypeError: delaySeconds must be a number of at least 0',
    ],
  },
  WorkflowInstanceCreateOptions: {
    id: [`return (await W.create({ id: 'mine', params: {} })).id`, 'mine'],
    params: [`const run = await W.create({ params: { say: 'it' } }); return outputOf(run)`, 'it'],
    retention: [
      `return W.create({ retention: { successRetention: '1 day' } })`,
      'TypeError: create does not support retention here: WORKFLOW_RETENTION_MS of the platform sets how long runs are kept',
    ],
    locationHint: 'no effect',
  },
  WorkflowInstanceRestartOptions: {
    from: [
      `const run = await W.create({ params: { say: 'again' } }); await outputOf(run); await run.restart({ from: { name: 'say' } }); return outputOf(run)`,
      'again',
    ],
  },
  WorkflowStepConfig: {
    retries: [
      `return outputOf(await W.create({ params: { config: { retries: { limit: 1, delay: 1, backoff: 'fibonacci' } } } }))`,
      'backoff must be constant, linear or exponential, not fibonacci',
    ],
    timeout: [
      `return outputOf(await W.create({ params: { config: { timeout: 'soon' } } }))`,
      'A time must be milliseconds or a text such as "5 minutes", not soon',
    ],
    sensitive: [
      `return outputOf(await W.create({ params: { config: { sensitive: 'output' } } }))`,
      'A step does not support sensitive here: its result is stored in the history of its run',
    ],
  },
  CacheQueryOptions: {
    ignoreMethod: [
      `await caches.default.put('http://a.example/', new Response('x')); return (await caches.default.match(new Request('http://a.example/', { method: 'HEAD' }), { ignoreMethod: true })).text()`,
      'x',
    ],
  },
};

const cases = Object.entries(options).flatMap(([type, members]) =>
  Object.entries(members).flatMap(([name, given]) =>
    given === 'no effect' ? [] : [{ name: `${type}.${name}`, code: given[0], expected: given[1] }],
  ),
);

const worker = `
let env;
const poll = async (look) => { for (;;) { const found = await look(); if (found !== null) return found; await new Promise((resolve) => setTimeout(resolve, 100)); } };
const untilKey = (key) => poll(() => env.KV.get(key, 'json'));
const outputOf = (run) => poll(async () => {
  const { status, output, error } = await run.status();
  return status === 'complete' ? output : status === 'errored' ? error.message : null;
});
const cases = { ${cases.map(({ name, code }) => `'${name}': async ({ KV, FS, Q, W }) => { ${code} }`).join(',\n')} };
export default {
  async fetch(request, given) {
    env = given;
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    try {
      return Response.json({ value: (await cases[name](env)) ?? null });
    } catch (error) {
      return Response.json({ value: String(error), code: error.code });
    }
  },
  async queue(batch, { KV }) {
    for (const message of batch.messages) {
      if (message.body !== 'retry') continue;
      if (message.attempts === 1) message.retry({ delaySeconds: 0 });
      else await KV.put('retried', JSON.stringify([1, message.attempts]));
    }
  },
  workflows: { runs: ({ input, step }) => step.do('say', input.config ?? {}, async () => input.say ?? null) },
};
`;

let folder: string;
let dev: TestDev;
before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'platform-options-'));
  mkdirSync(path.join(folder, 'src'));
  mkdirSync(path.join(folder, '.git'));
  writeFileSync(path.join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(folder, 'src/index.js'), worker);
  writeFileSync(
    path.join(folder, 'platform.yaml'),
    'state: { KV: kept }\nfs: { FS: files }\nqueue: { Q: mail }\nworkflow: { W: runs }\n',
  );
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  rmSync(folder, { recursive: true, force: true });
});

for (const { name, expected } of cases)
  test(`${name} has its effect, or is refused by its name`, async () => {
    const response = await dev.fetch(`/${encodeURIComponent(name)}`);
    const { value } = response.json() as { value: unknown };
    if (expected instanceof RegExp) assert.match(String(value), expected);
    else assert.deepEqual(value, expected, response.text);
  });

test('the table names each option of the published types', () => {
  const types = readFileSync(path.join(root, 'node_modules/@cloudflare/workers-types/index.d.ts'), 'utf8');
  for (const [type, members] of Object.entries(options)) {
    const [, body = ''] =
      new RegExp(`^(?:export )?(?:declare )?(?:interface|type) ${type}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`, 'm').exec(
        types,
      ) ??
      new RegExp(`^ *(?:export )?type ${type}\\b[^{]*\\{\\n([\\s\\S]*?)\\n {2}\\};`, 'm').exec(types) ??
      [];
    const [, indent = ''] = /^( +)\w+\??:/m.exec(body) ?? [];
    const published = [...body.matchAll(new RegExp(`^${indent}(\\w+)\\??:`, 'gm'))].map(([, name]) => name!);
    assert.deepEqual(published.toSorted(), Object.keys(members).toSorted(), type);
  }
});

test('what has no effect is named in the documents', () => {
  const text = readFileSync(path.join(root, 'docs/bindings.md'), 'utf8');
  for (const [type, members] of Object.entries(options))
    for (const [name, given] of Object.entries(members))
      if (given === 'no effect') assert.ok(text.includes(`\`${name}\``), `${type}.${name}`);
});
