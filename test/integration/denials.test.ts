// Pages for newcomers list what is not supported. Each such row or sentence has a probe here that must be refused, so
// that no page denies what is supported by now. A new denial without a probe fails this file.
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { command as dev } from '#cli/commands/dev.ts';
import { findEntry } from '#cli/commands/tree.ts';
import { readWrangler } from '#cli/wrangler/read-wrangler.ts';
import { toPlatformYaml } from '#cli/wrangler/to-platform-yaml.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const PAGES = globSync(['README.md', 'docs/coming-from-*.md', 'docs/compatibility.md'], { cwd: root }).sort();
/** In the last cell of a row, which says what there is here. */
const DENIES = /\bnot there\b|^none\b|\bdo not (?:work|run)\b|(?:^|[;,.] |\bthere is |\bhas )no (?!bound)/i;
const DENYING = /\bthere (?:is|are) no [^.:;,]+/gi;
/** Sections of other tables: sizes, and packages, which test/unit/builder/bundle/impossible-packages.test.ts walks. */
const OTHERS = /^## (?:Limits|Packages that cannot run in a worker)/;

/** First cells of the rows, and sentences, that deny something. */
function denialsOf(page: string): string[] {
  const found: string[] = [];
  let isOther = false;
  for (const paragraph of page.replaceAll(/^```[\s\S]*?^```$/gm, '').split(/\n(?=[|#\n])/)) {
    if (paragraph.startsWith('## ')) isOther = OTHERS.test(paragraph);
    if (isOther) continue;
    const cells = /^\|(.*)\|$/
      .exec(paragraph.trim())?.[1]
      ?.split('|')
      .map((cell) => cell.trim());
    if (cells === undefined)
      found.push(...[...paragraph.replaceAll(/\s+/g, ' ').matchAll(DENYING)].map(([one]) => one.trim()));
    else if (DENIES.test(cells.at(-1)!)) found.push(cells[0]!);
  }
  return found;
}

let handler: TestHandler;
const worker = `
import * as cloudflare from 'cloudflare:workers';
import { EmailMessage } from 'cloudflare:email';
import * as nodeOfCloudflare from 'cloudflare:node';
import * as crypto from 'node:crypto';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as net from 'node:net';
import process from 'node:process';

export default {
  async fetch(request, env) {
    const names = { cloudflare, nodeOfCloudflare, EmailMessage, crypto, fs, http, net, process, env };
    const run = new Function(...Object.keys(names), 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json({ is: String(await run(...Object.values(names))) }); }
    catch (error) { return Response.json({ refused: error.message }); }
  },
};`;

before(async () => {
  handler = await startHandler({ probe: { files: { 'src/index.js': worker }, yaml: 'main: src/index.js\n' } });
});
after(() => handler.close());

type Probe = () => Promise<void> | void;

/** A worker that does this gets an error. */
const throws =
  (refusals: Readonly<Record<string, RegExp>>): Probe =>
  async () => {
    for (const [code, words] of Object.entries(refusals)) {
      const { text } = await handler.fetch('probe', '/', { method: 'POST', body: code });
      assert.match((JSON.parse(text) as { refused?: string }).refused ?? `not refused: ${text}`, words, code);
    }
  };

/** platform.yaml with these lines is refused, and the problem names the last word of the key. */
const unknownTo =
  (...texts: string[]): Probe =>
  () => {
    for (const text of texts) {
      const { config, problems } = parseProjectConfig(`${text}\n`, { file: 'platform.yaml' });
      assert.equal(config, null, `${text}: it is taken`);
      assert.ok(problems.length > 0, text);
    }
  };

/** `platform import` says of these keys of Wrangler that they have no counterpart. */
const notImported =
  (...keys: string[]): Probe =>
  () => {
    for (const key of keys) {
      const file = readWrangler(JSON.stringify({ name: 'a', [key]: [{ binding: 'X' }] }), 'wrangler.jsonc');
      const said = JSON.stringify(toPlatformYaml(file));
      assert.match(said, new RegExp(`${key}.{0,200}(?:not supported|no equivalent)`), key);
    }
  };

const regions = unknownTo('regions: [fra1]', 'region: fra1', 'placement: { mode: smart }');

/** By the first cell of a row, or the words of a sentence. */
const probes: Readonly<Record<string, Probe>> = {
  // docs/coming-from-vercel.md
  '`redirects`, `headers`': unknownTo('redirects: []', 'headers: []'),
  '`trailingSlash`': unknownTo('trailing_slash: true', 'assets: { html_handling: force-trailing-slash }'),
  '`crons`': unknownTo("cron: { REFRESH: { path: /api/refresh, schedule: '0 5 * * *' } }"),
  '`regions`': regions,
  '`VERCEL_ENV`, `VERCEL_URL`, ...': throws({
    "for (const name of Object.keys(process.env)) if (/^VERCEL_|_URL$/.test(name)) return name; throw new Error('none')":
      /^none$/,
  }),
  'Image Optimization': unknownTo('images: {}'),
  'Web Analytics, Speed Insights, Firewall, Feature Flags': unknownTo(
    'analytics: true',
    'speed_insights: true',
    'firewall: {}',
    'flags: {}',
  ),
  'functions in Python, Go, Ruby': () =>
    assert.rejects(
      startHandler({
        python: { files: { 'app.py': 'def on_fetch(request):\n    return 1\n' }, yaml: 'main: app.py\n' },
      }),
      /app\.py/,
    ),
  'There is no file system to write to': throws({ "fs.writeFileSync('/tmp/x', '')": /file system|disk|fs/i }),
  'There is no network of regions': regions,

  // docs/coming-from-netlify.md
  'build plugins': unknownTo('plugins: []', 'build: { plugins: [] }'),
  'Image CDN': unknownTo('images: {}'),

  // docs/coming-from-heroku.md
  '`heroku ps:scale web=3`': unknownTo('scale: { web: 3 }', 'processes: 3'),
  'buildpacks, Docker images': unknownTo('buildpacks: []', 'image: node', 'dockerfile: Dockerfile'),
  '`heroku run`': () => assert.equal(findEntry(['run']), null),

  // docs/coming-from-railway.md
  '`numReplicas`': unknownTo('replicas: 2'),

  // docs/coming-from-wrangler.md
  'There are no ids': unknownTo('db: { DB: { id: 3a6f3a66 } }'),
  '`max_batch_size`, `max_batch_timeout`': unknownTo(
    'queue: { CLICKS: { name: clicks, max_batch_size: 5 } }',
    'queue: { CLICKS: { name: clicks, max_batch_timeout: 5 } }',
  ),
  '`[triggers] crons`': unknownTo(
    "cron: { A: '0 0 L * *' }",
    "cron: { A: '0 0 15W * *' }",
    "cron: { A: '0 0 * * 1#2' }",
  ),
  '`[placement]`, `[define]`, `[alias]`, `minify`': notImported('placement', 'define', 'alias', 'minify'),
  D1: unknownTo('db: { DB: { name: links, read_replication: { mode: auto } } }'),
  'Email (`send_email`, `email` handlers)': notImported('send_email'),
  'Images, Analytics Engine': notImported('images', 'analytics_engine_datasets'),
  'Workers for Platforms (`dispatch_namespaces`)': notImported('dispatch_namespaces'),
  '`cloudflare:node` (`httpServerHandler`)': async () => {
    const code = "import { httpServerHandler } from 'cloudflare:node'; export default httpServerHandler({});";
    const served = await startHandler({ served: { files: { 'src/index.js': code }, yaml: 'main: src/index.js\n' } });
    try {
      const { text } = await served.fetch('served', '/');
      assert.equal((JSON.parse(text) as { code: string }).code, 'worker_start_failed');
    } finally {
      await served.close();
    }
  },
  'there is no `--remote`': () => assert.ok(!Object.hasOwn(dev.args ?? {}, 'remote')),
  'there is no counterpart of `@cloudflare/vitest-pool-workers`': () =>
    assert.deepEqual(
      readdirSync(path.join(root, 'packages')).filter((name) => /test/.test(name)),
      [],
    ),
  'There is no network of cities': regions,

  // docs/compatibility.md
  crypto: throws({
    "crypto.generateKeyPairSync('rsa', { modulusLength: 2048, privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } })":
      /./,
    'crypto.createDiffieHellman(512)': /./,
    "new crypto.X509Certificate('')": /./,
    "crypto.createHash('sha256').pipe(null)": /not a function/,
  }),
  'http, https': throws({ 'http.createServer(() => {}).listen(0)': /not available in a worker/ }),
  'net, tls': throws({
    'net.createServer(() => {}).listen(0)': /./,
    "net.connect('/tmp/app.sock')": /./,
  }),
  process: throws({ "process.kill(process.pid, 'SIGTERM')": /./, 'process.memoryUsage()': /./ }),
  email: notImported('send_email'),
  node: throws({ 'nodeOfCloudflare.httpServerHandler({ port: 1 })': /node:http has no servers/ }),
};

test('each denial of the pages has a probe, and each probe a denial', () => {
  const denied = PAGES.flatMap((page) => denialsOf(readFileSync(path.join(root, page), 'utf8')));
  assert.deepEqual([...new Set(denied)].sort(), Object.keys(probes).sort());
});

for (const [denial, probe] of Object.entries(probes))
  test(`is not supported, as pages say: ${denial}`, async () => {
    await probe();
  });
