// The images are built from this repository alone, hold no more than they need, and run as who they should; the compose
// files are what Compose takes, publish three ports, and refuse to start without secrets.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { makeSecrets } from '#cli/secrets/make-secrets.ts';
import { root } from '#cli/tasks/processes.ts';
import { BASE_IMAGE, startDockerEngine, type DockerEngine } from '#test/setup/docker-engine.ts';

const FILES = [['compose.yaml'], ['compose.split.yaml'], ['compose.split.yaml', 'compose.handlers.yaml']];
const IMAGES = [
  'platform',
  'platform-handler',
  'platform-control',
  'platform-internal',
  'platform-web',
  'platform-builder',
];

let engine: DockerEngine;
let folder: string;
let envFile: string;

const compose = (files: readonly string[], ...words: string[]): Promise<string> =>
  engine.compose(
    { BASE_IMAGE },
    '--env-file',
    envFile,
    '--project-name',
    'images',
    ...files.flatMap((file) => ['--file', file]),
    ...words,
  );

before(async () => {
  engine = await startDockerEngine();
  folder = mkdtempSync(path.join(tmpdir(), 'platform-images-'));
  envFile = path.join(folder, '.env');
  makeSecrets(envFile, path.join(root, '.env.example'));
});

after(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the images are built', { timeout: 900_000 }, async () => {
  for (const files of FILES.slice(0, 2)) await compose(files, '--profile', 'redis', 'build', '--quiet');
  const sizes = await engine.docker('images', '--format', '{{.Repository}} {{.Size}}');
  const lines = sizes.split('\n').filter((line) => line.startsWith('platform'));
  console.log(lines.toSorted().join('\n'));
  for (const image of IMAGES)
    assert.ok(
      lines.some((line) => line.startsWith(`${image} `)),
      image,
    );
});

test('an image holds the program, and neither sources, tests nor what builds it', async () => {
  const list = await engine.docker('run', '--rm', '--entrypoint', 'ls', 'platform-handler', '/opt/platform');
  assert.deepEqual(list.split('\n').filter(Boolean).toSorted(), [
    'LICENSE',
    'README.md',
    'core',
    'deployments',
    'healthy',
    'node_modules',
    'package.json',
    'postgres',
    'runtime',
    'start',
  ]);
  const uws = await engine.docker(
    'run',
    '--rm',
    '--entrypoint',
    'ls',
    'platform-handler',
    '/opt/platform/node_modules/uWebSockets.js',
  );
  assert.match(uws, /^(?:LICENSE\S*\n)?package\.json\nuws\.js\nuws_linux_\w+_137\.node\n$/);
  for (const [image, user] of [
    ['platform', '10001'],
    ['platform-handler', '10001'],
    ['platform-control', '10001'],
    ['platform-internal', '10001'],
    ['platform-builder', '0'],
  ])
    assert.equal((await engine.docker('run', '--rm', '--entrypoint', 'id', image!, '-u')).trim(), user, image);
});

test('the compose files are taken, and publish the three public ports alone', async () => {
  for (const files of FILES) {
    const text = await compose(files, 'config');
    const published = [...text.matchAll(/^ +- \S*?(\d+)\/tcp$|^ +target: (\d+)$/gm)].map(
      ([, short, long]) => short ?? long,
    );
    assert.deepEqual(published.toSorted(), ['3002', '3005', '4001', '4002'], files.join());
  }
});

test('without secrets nothing starts, and the command that makes them is named', async () => {
  for (const files of FILES)
    await assert.rejects(
      engine.compose({}, '--env-file', '/dev/null', ...files.flatMap((file) => ['--file', file]), 'config'),
      /run platform secrets init/,
    );
});

test('weak secrets are refused with the command that mends them, and not shown', async () => {
  const weak = 'postgres://platform:hunter2hunter2@postgres/platform';
  const variables = {
    PLATFORM_PARTS: 'builder',
    DATABASE_URL: weak,
    ENCRYPTION_KEY: 'change-me-change-me-change-me-change-me',
  };
  const words = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  await assert.rejects(engine.docker('run', '--rm', ...words, 'platform-builder'), ({ message }: Error) => {
    assert.match(message, /ENCRYPTION_KEY is a word of an example/);
    assert.match(message, /the password in DATABASE_URL is weak/);
    assert.match(message, /`platform secrets init` makes good ones/);
    assert.doesNotMatch(message.slice(message.indexOf('\n')), /hunter2|change-me/);
    return true;
  });
  assert.doesNotMatch(readFileSync(envFile, 'utf8'), /hunter2/);
});
