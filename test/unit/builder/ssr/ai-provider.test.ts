// builder/ssr/ai-provider.ts: what is written beside the app of a Next.js project with `ai: true`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { BuildError } from '#builder/project/build-error.ts';
import { writeAiProvider } from '#builder/ssr/ai-provider.ts';

const ai = { ai: true, kind: null } as const;

interface App {
  readonly folder: string;
  read(name: string): string;
}

function appOf(
  context: TestContext,
  files: Readonly<Record<string, string>>,
  packages: Readonly<Record<string, string>> = { next: '16.4.6', ai: '^7.0.0' },
): App {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'ai-provider-')));
  context.after(() => rmSync(folder, { recursive: true }));
  const manifest = JSON.stringify({ dependencies: packages, scripts: { build: 'next build', start: 'next start' } });
  for (const [name, text] of Object.entries({ 'package.json': manifest, ...files })) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return { folder, read: (name) => readFileSync(path.join(folder, name), 'utf8') };
}

test('without an instrumentation file both are written, beside the app, and a second build changes nothing', (t) => {
  const app = appOf(t, { 'app/page.jsx': '' });
  assert.deepEqual(writeAiProvider(app.folder, ai), ['platform-ai-provider.js', 'instrumentation.js']);
  const provider = app.read('platform-ai-provider.js');
  assert.match(provider, /AI_SDK_DEFAULT_PROVIDER \?\?= createGateway\(\{ baseURL, apiKey: token \}\)/);
  const made = app.read('instrumentation.js');
  assert.match(made, /export async function register\(\) \{\n {2}await import\('\.\/platform-ai-provider\.js'\);\n\}/);
  assert.deepEqual(writeAiProvider(app.folder, ai), []);
  writeFileSync(path.join(app.folder, 'instrumentation.js'), `${made}// changed`);
  assert.deepEqual(writeAiProvider(app.folder, ai), ['instrumentation.js']);
  assert.equal(app.read('instrumentation.js'), made);
});

test('in src they lie in src', (t) => {
  const app = appOf(t, { 'src/app/page.jsx': '' });
  assert.deepEqual(writeAiProvider(app.folder, ai), ['src/platform-ai-provider.js', 'src/instrumentation.js']);
  const both = appOf(t, { 'src/lib.js': '', 'pages/index.jsx': '' });
  assert.deepEqual(writeAiProvider(both.folder, ai), ['platform-ai-provider.js', 'instrumentation.js']);
});

for (const [what, name, text, expected] of [
  [
    'TypeScript',
    'instrumentation.ts',
    `// Ours.\nimport { setUp } from './set-up';\n\nexport function register(): void {\n  setUp();\n}\n`,
    `// Ours.\nimport './platform-ai-provider.js';\nimport { setUp } from './set-up';\n\nexport function register(): void {\n  setUp();\n}\n`,
  ],
  [
    'CommonJS',
    'instrumentation.js',
    `'use strict';\nconst { setUp } = require('./set-up');\n\nmodule.exports.register = setUp;\n`,
    `'use strict';\nrequire('./platform-ai-provider.js');\nconst { setUp } = require('./set-up');\n\nmodule.exports.register = setUp;\n`,
  ],
  [
    'one of a line',
    'instrumentation.mjs',
    `/* a */ export {}`,
    `/* a */ \nimport './platform-ai-provider.js';\nexport {}`,
  ],
  ['an empty one', 'instrumentation.ts', '', `import './platform-ai-provider.js';\n`],
  ['a comment without an end', 'instrumentation.ts', '/* a', `import './platform-ai-provider.js';\n/* a`],
] as const)
  test(`an instrumentation file receives the import once: ${what}`, (t) => {
    const app = appOf(t, { 'app/page.jsx': '', [name]: text });
    assert.deepEqual(writeAiProvider(app.folder, ai), ['platform-ai-provider.js', name]);
    assert.equal(app.read(name), expected);
    assert.deepEqual(writeAiProvider(app.folder, ai), []);
    assert.equal(app.read(name), expected);
  });

test('nothing is written without "ai: true", without a server, for another framework and without ai', (t) => {
  const app = appOf(t, { 'app/page.jsx': '' });
  assert.deepEqual(writeAiProvider(app.folder, { ai: false, kind: null }), []);
  assert.deepEqual(writeAiProvider(app.folder, { ai: true, kind: 'static' }), []);
  const exported = appOf(t, { 'app/page.jsx': '', 'next.config.mjs': `export default { output: 'export' };` });
  assert.deepEqual(writeAiProvider(exported.folder, ai), []);
  assert.deepEqual(writeAiProvider(appOf(t, { 'app/page.jsx': '' }, { next: '16.4.6' }).folder, ai), []);
  assert.deepEqual(writeAiProvider(appOf(t, {}, { express: '5.0.0', ai: '7.0.0' }).folder, ai), []);
  assert.equal(existsSync(path.join(app.folder, 'instrumentation.js')), false);
});

test('ai 4 is refused, as package.json says it or as it is installed', (t) => {
  const expected = {
    code: 'not_supported',
    message:
      'ai 4.3.2 is not supported with "ai: true": its default provider came with ai 5. Set "ai" to "^5.0.0" or later in package.json, or remove "ai" from platform.yaml and call PLATFORM_AI_URL yourself',
  };
  const named = appOf(t, { 'app/page.jsx': '' }, { next: '16.4.6', ai: '^4.3.2' });
  assert.throws(() => writeAiProvider(named.folder, ai), expected);
  const installed = appOf(
    t,
    { 'app/page.jsx': '', 'node_modules/ai/package.json': '{"name":"ai","version":"4.3.2"}' },
    { next: '16.4.6', ai: 'latest' },
  );
  assert.throws(() => writeAiProvider(installed.folder, ai), expected);
  assert.equal(existsSync(path.join(installed.folder, 'platform-ai-provider.js')), false);
});

test("a file of the project's own in the place of ours, and a link out of the project, are refused", (t) => {
  const own = appOf(t, { 'app/page.jsx': '', 'platform-ai-provider.js': 'mine' });
  assert.throws(() => writeAiProvider(own.folder, ai), /platform-ai-provider\.js is a file of this project/);
  assert.equal(own.read('platform-ai-provider.js'), 'mine');
  const linked = appOf(t, { 'app/page.jsx': '' });
  const outside = appOf(t, { 'instrumentation.js': 'outside' });
  symlinkSync(path.join(outside.folder, 'instrumentation.js'), path.join(linked.folder, 'instrumentation.js'));
  assert.throws(() => writeAiProvider(linked.folder, ai), BuildError);
  assert.equal(outside.read('instrumentation.js'), 'outside');
  const folders = appOf(t, {});
  const elsewhere = appOf(t, { 'app/page.jsx': '' });
  symlinkSync(elsewhere.folder, path.join(folders.folder, 'src'));
  assert.throws(() => writeAiProvider(folders.folder, ai), /is outside the project/);
});

test('the provider is set where there is a gateway, and never over another', (t) => {
  const app = appOf(t, {
    'app/page.jsx': '',
    'node_modules/ai/package.json': '{"name":"ai","version":"7.0.0","type":"module","main":"index.js"}',
    'node_modules/ai/index.js': 'export const createGateway = (options) => options;',
  });
  writeAiProvider(app.folder, ai);
  const provider = (before: string, environment: Record<string, string>): unknown =>
    JSON.parse(
      execFileSync(
        process.execPath,
        [
          '--input-type=module',
          '--eval',
          `${before}; await import('./platform-ai-provider.js'); console.log(JSON.stringify(globalThis.AI_SDK_DEFAULT_PROVIDER ?? null));`,
        ],
        { cwd: app.folder, env: environment, stdio: ['ignore', 'pipe', 'ignore'] },
      ).toString(),
    );
  const gateway = { PLATFORM_AI_URL: 'https://api.test/ai', PLATFORM_AI_TOKEN: 'token' };
  assert.deepEqual(provider('', gateway), { baseURL: 'https://api.test/ai/sdk', apiKey: 'token' });
  assert.deepEqual(provider('', { ...gateway, PLATFORM_AI_GATEWAY_URL: 'https://other.test/sdk' }), {
    baseURL: 'https://other.test/sdk',
    apiKey: 'token',
  });
  assert.equal(provider('globalThis.AI_SDK_DEFAULT_PROVIDER = 1', gateway), 1);
  assert.equal(provider('', {}), null);
});
