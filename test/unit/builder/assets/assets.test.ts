// builder/assets/assets.ts: which files of a folder are served, under which path, with which hash and type.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { collectAssets } from '#builder/assets/assets.ts';
import { projectFolder } from '../project-folder.ts';

const limits = { artifactBytesMax: 1000, artifactFilesMax: 10 };

test('files have their hash, size and content type, sorted by path', async (t) => {
  const root = projectFolder(t, { 'b/page.HTML': 'hi', 'a.js': '', 'A.png': new Uint8Array(3), data: 'x' });
  const { files, bytes } = await collectAssets(root, limits);
  assert.deepEqual(Object.entries(files), [
    [
      'A.png',
      { hash: '709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c', bytes: 3, type: 'image/png' },
    ],
    [
      'a.js',
      {
        hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
        bytes: 0,
        type: 'text/javascript; charset=utf-8',
      },
    ],
    [
      'b/page.HTML',
      {
        hash: '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4',
        bytes: 2,
        type: 'text/html; charset=utf-8',
      },
    ],
    [
      'data',
      {
        hash: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
        bytes: 1,
        type: 'application/octet-stream',
      },
    ],
  ]);
  assert.equal(bytes, 6);
});

test('dotfiles and node_modules are left out, .well-known is not', async (t) => {
  const root = projectFolder(t, {
    '.env': '',
    '.git/config': '',
    'a/.hidden': '',
    'node_modules/x/i.js': '',
    'a/node_modules/y.js': '',
    '.well-known/security.txt': '',
    'a/b': '',
  });
  assert.deepEqual(Object.keys((await collectAssets(root, limits)).files), ['.well-known/security.txt', 'a/b']);
});

test('_headers and _redirects at the top are read and not served', async (t) => {
  const root = projectFolder(t, { _headers: '/*\n  x: y', _redirects: '/a /b 301', 'sub/_headers': '' });
  const { files, rules } = await collectAssets(root, limits);
  assert.deepEqual(Object.keys(files), ['sub/_headers']);
  assert.deepEqual(rules, { headers: '/*\n  x: y', redirects: '/a /b 301' });
});

test('a project that is served as it lies keeps sources, configuration and keys to itself', async (t) => {
  const kept =
    `platform.yaml package.json package-lock.json yarn.lock tsconfig.json tsconfig.build.json vite.config.ts tailwind.config.js
    .env .git/config .npmrc node_modules/x/i.js src/a.ts src/a.tsx sub/package.json sub/server.key id_ed25519 prod.env notes.sql
    Dockerfile docker-compose.yml wrangler.toml dev.sqlite npm-debug.log`.split(/\s+/);
  const served = ['.well-known/security.txt', 'index.html', 'js/app.config.js', 'main.js', 'readme.md', 'video.ts'];
  const packet = new Uint8Array(400);
  packet[0] = packet[188] = 0x47;
  const root = projectFolder(t, {
    ...Object.fromEntries([...kept, ...served].map((name) => [name, 'x'])),
    'video.ts': packet,
  });
  const { files, withheld } = await collectAssets(
    root,
    { artifactBytesMax: 10_000, artifactFilesMax: 100 },
    { isProject: true },
  );
  assert.deepEqual(Object.keys(files), served);
  assert.deepEqual(withheld, ['id_ed25519', 'prod.env', 'sub/server.key']);
});

test('keys and dotfiles of any assets folder are left out, and the keys are named', async (t) => {
  const root = projectFolder(t, {
    'a/tls.pem': '',
    '.env.local': '',
    'service-account.json': '',
    'config.json': '',
    'a.ts': '',
  });
  const { files, withheld } = await collectAssets(root, limits);
  assert.deepEqual(Object.keys(files), ['a.ts', 'config.json']);
  assert.deepEqual(withheld, ['a/tls.pem', 'service-account.json']);
});

test('the code of a worker that lies among the files is not served; what it imports as text is', async (t) => {
  const root = projectFolder(t, {
    '_worker.js/index.js': '',
    '_worker.js/index.js.map': '',
    '_routes.json': '',
    'server/chunk.mjs': '',
    'app.js': '',
    'page.html': '',
  });
  const worker = ['_worker.js/index.js', 'server/chunk.mjs', 'page.html'].map((name) => join(root, name));
  assert.deepEqual(Object.keys((await collectAssets(root, limits, { worker })).files), ['app.js', 'page.html']);
});

test('paths keep upper and lower case, spaces and any script, in one Unicode spelling', async (t) => {
  const root = projectFolder(t, {
    'Über uns/日本 語.txt': '',
    'cafe\u0301.txt': '',
    ['__proto__']: '',
    'a%20b?c#d.txt': '',
  });
  assert.deepEqual(Object.keys((await collectAssets(root, limits)).files), [
    '__proto__',
    'a%20b?c#d.txt',
    'caf\u00e9.txt',
    'Über uns/日本 語.txt',
  ]);
});

test('two files whose names are the same to a browser are refused', async (t) => {
  const root = projectFolder(t, { 'cafe\u0301': '', 'caf\u00e9': '' });
  await assert.rejects(collectAssets(root, limits), {
    code: 'assets',
    message: 'Two assets are called caf\u00e9 (with different Unicode spellings)',
  });
});

test('links inside the folder are followed', async (t) => {
  const root = projectFolder(t, { 'a/x.txt': 'x' });
  symlinkSync('a/x.txt', join(root, 'link.txt'));
  symlinkSync('a', join(root, 'again'));
  assert.deepEqual(Object.keys((await collectAssets(root, limits)).files), ['a/x.txt', 'again/x.txt', 'link.txt']);
});

for (const [title, target, message] of [
  ['out of the folder', '/etc/hostname', 'Asset public/link is a link to a path outside the assets folder'],
  [
    'to a neighbour whose name begins the same',
    '../../site-secret',
    'Asset public/link is a link to a path outside the assets folder',
  ],
  ['nowhere', 'gone', 'Asset public/link is a link to a missing path'],
  ['to a folder around it', '..', 'Asset public/link is a link to a folder around it'],
  ['to a hidden file', '../.env', 'Asset public/link is a link to .env, which is not served'],
] as const) {
  test(`a link ${title} is refused`, async (t) => {
    const root = projectFolder(t, { 'public/x': '', '.env': 'SECRET=1' }, 'site');
    mkdirSync(`${root}-secret`);
    symlinkSync(target, join(root, 'public/link'));
    await assert.rejects(collectAssets(root, limits), { code: 'assets', message });
  });
}

test('something that is neither file nor folder is refused', async (t) => {
  const root = projectFolder(t, {});
  execFileSync('mkfifo', [join(root, 'pipe')]);
  await assert.rejects(collectAssets(root, limits), {
    code: 'assets',
    message: 'Asset pipe is neither a file nor a folder',
  });
});

test('more bytes or files than allowed are refused with both numbers', async (t) => {
  const root = projectFolder(t, { a: 'x'.repeat(600), b: 'x'.repeat(600) });
  await assert.rejects(collectAssets(root, limits), {
    code: 'too_large',
    message: 'The artifact has 1200 bytes; BUILD_ARTIFACT_MAX_BYTES allows 1000',
  });
  await assert.rejects(collectAssets(root, { artifactBytesMax: 5000, artifactFilesMax: 1 }), {
    code: 'too_large',
    message: 'The artifact has 2 files or more; BUILD_ARTIFACT_MAX_FILES allows 1',
  });
});

test('a folder that does not exist is named', async () => {
  await assert.rejects(collectAssets('/nowhere/at/all', limits), {
    code: 'assets',
    message: 'The assets folder /nowhere/at/all does not exist',
  });
});
