// What a browser and a program see of a project that does not build or whose worker throws: everything in dev, nothing
// in production.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { send, startHandler } from '#test/setup/handler.ts';

const html = { accept: 'text/html,application/xhtml+xml' };
const thrower = `import { fail } from './deeper.ts';

export default {
  async fetch(request: Request): Promise<Response> {
    if (request.url.endsWith('/text')) throw 'only text';
    return fail('<img src=x onerror=alert(1)>');
  },
};
`;
const deeper = `interface Unused { a: string }
export function fail(text: string): never {
  // In dev only.
  throw new TypeError(text);
}
`;

const root = mkdtempSync(join(tmpdir(), 'dev-failures-'));
after(() => rmSync(root, { recursive: true }));

function project(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, name);
  mkdirSync(join(folder, 'src'), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

async function started(t: TestContext, folder: string): Promise<TestDev> {
  const dev = await startDevHere(folder);
  t.after(() => dev.close());
  return dev;
}

/** Resolves with the first two versions that a page is told. */
async function versions(port: number, between: () => void): Promise<string[]> {
  const asked = get({
    host: '127.0.0.1',
    port,
    path: '/_platform/dev/changes',
    headers: { host: `localhost:${port}` },
  });
  const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  assert.equal(response.headers['content-type'], 'text/event-stream');
  const told: string[] = [];
  for await (const chunk of response) {
    for (const [, version] of String(chunk).matchAll(/^data: (.*)$/gm)) told.push(version!);
    if (told.length === 1) between();
    if (told.length > 1) break;
  }
  asked.destroy();
  return told;
}

test('a first build that is broken answers 503 with the error, and the page hears of its repair', async (t) => {
  const folder = project('broken', { 'src/index.ts': 'export default {\n  fetch( }\n' });
  const dev = await started(t, folder);
  const page = await dev.fetch('/', { headers: html });
  assert.equal(page.status, 503);
  assert.equal(page.headers['content-type'], 'text/html;charset=utf-8');
  assert.equal(page.headers['cache-control'], 'no-store');
  assert.match(
    page.text,
    /<div class="place">src\/index\.ts:2:10<\/div>\n<pre>.*\n<mark>&gt; 2 \| {3}fetch\( \}<\/mark>/,
  );
  const answer = await dev.fetch('/api');
  assert.equal(answer.status, 503);
  const { code, file, line, frame } = answer.json() as Record<string, string>;
  assert.deepEqual([code, file, line], ['build_failed', 'src/index.ts', 2]);
  assert.match(frame!, /^> 2 \|/m);
  const told = await versions(dev.port, () =>
    writeFileSync(join(folder, 'src/index.ts'), "export default { fetch: () => new Response('mended') };"),
  );
  assert.ok(page.text.includes(JSON.stringify(told[0])));
  assert.equal((await dev.fetch('/', { headers: html })).text, 'mended');
});

test('a worker that throws is shown with its own sources, to browsers as a page and to others as JSON', async (t) => {
  const dev = await started(t, project('throws', { 'src/index.ts': thrower, 'src/deeper.ts': deeper }));
  const page = await dev.fetch('/', { headers: html });
  assert.equal(page.status, 500);
  assert.equal(page.headers['x-platform-error'], 'worker_threw');
  assert.match(
    String(page.headers['content-security-policy']),
    /^default-src 'none'; style-src 'nonce-[\w+/=]+'; script-src 'nonce-/,
  );
  assert.ok(page.text.includes('<h2>TypeError: &#60;img src=x onerror=alert(1)&gt;</h2>'), page.text);
  assert.ok(!page.text.includes('<img'));
  assert.ok(page.text.includes('<div class="place">src/deeper.ts:4:9</div>'));
  assert.ok(page.text.includes('<mark>&gt; 4 |   throw new TypeError(text);</mark>'));
  assert.match(page.text, /at async Object\.fetch|at Object\.fetch/);
  const thrown = (await dev.fetch('/')).json() as Record<string, string>;
  assert.equal(thrown['error'], 'The worker threw: <img src=x onerror=alert(1)>');
  assert.equal(thrown['code'], 'worker_threw');
  assert.equal(thrown['name'], 'TypeError');
  assert.equal(thrown['message'], '<img src=x onerror=alert(1)>');
  assert.match(
    thrown['stack']!,
    /^TypeError: .*\n {4}at fail \(src\/deeper\.ts:4:9\)\n {4}at Object\.fetch \(src\/index\.ts:6:12\)$/m,
  );
  assert.match(thrown['frame']!, /^> 4 \| {3}throw new TypeError\(text\);$/m);
  const text = (await dev.fetch('/text')).json() as Record<string, string>;
  assert.deepEqual([text['message'], text['stack'], text['frame']], ['only text', undefined, undefined]);
});

test('while the newest build is broken, a page shows that and not what the build before it throws', async (t) => {
  const folder = project('older', { 'src/index.ts': thrower, 'src/deeper.ts': deeper });
  const dev = await started(t, folder);
  assert.match((await dev.fetch('/', { headers: html })).text, /<h1>The worker threw \(500\)<\/h1>/);
  const told = await versions(dev.port, () =>
    writeFileSync(join(folder, 'src/deeper.ts'), 'export function fail( }\n'),
  );
  assert.notEqual(told[0], told[1]);
  const page = await dev.fetch('/', { headers: html });
  assert.match(page.text, /<h1>The project does not build \(500\)<\/h1>/);
  assert.match(page.text, /<div class="place">src\/deeper\.ts:1:23<\/div>/);
  assert.doesNotMatch(page.text, /TypeError/);
  // What a program asked still has its own answer.
  assert.equal(((await dev.fetch('/')).json() as { code: string }).code, 'worker_threw');
});

test('a name that is none of this machine is shown no source', async (t) => {
  const dev = await started(t, project('rebound', { 'src/index.ts': thrower, 'src/deeper.ts': deeper }));
  const answer = await send(dev.port, 'rebound.example', '/', { headers: html });
  assert.deepEqual(answer.json(), { error: 'The worker threw', code: 'worker_threw' });
});

test('a worker that does not start, and one that overruns its budget, say so', async (t) => {
  const folder = project('starts-not', {
    'src/index.ts': "\n\nthrow new RangeError('at the top');\nexport default {};\n",
  });
  const dev = await started(t, folder);
  const start = (await dev.fetch('/')).json() as Record<string, string>;
  assert.equal(start['code'], 'worker_start_failed');
  assert.equal(start['error'], 'The worker threw while it was loaded: RangeError: at the top');
  assert.deepEqual([start['file'], start['line']], ['src/index.ts', 3]);
  const reloaded = dev.printed(/Reloaded/);
  writeFileSync(join(folder, 'src/index.ts'), 'export default { fetch() { for (;;); } };');
  await reloaded;
  const page = await dev.fetch('/', { headers: html });
  assert.ok(page.text.includes('<h1>CPU limit exceeded (500)</h1>'), page.text);
  const { limitMs } = (await dev.fetch('/')).json() as { limitMs: number };
  assert.equal(limitMs, 1000);
});

test('in production a visitor learns nothing of what was thrown, whatever the request accepts', async () => {
  const handler = await startHandler({ shop: { files: { 'src/index.ts': thrower, 'src/deeper.ts': deeper } } });
  try {
    const page = await handler.fetch('shop', '/', { headers: html });
    assert.deepEqual([page.status, page.headers['content-type']], [500, 'text/html;charset=utf-8']);
    assert.match(page.text, /<h1>Something went wrong<\/h1>/);
    assert.doesNotMatch(page.text, /onerror|deeper|index\.ts/);
    const answer = await handler.fetch('shop', '/');
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.deepEqual(answer.json(), { error: 'The worker threw', code: 'worker_threw' });
    assert.equal((await handler.fetch('shop', '/_platform/dev/changes')).status, 500);
  } finally {
    await handler.close();
  }
});
