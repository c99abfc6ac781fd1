// The images are built from this repository alone, hold no more than they need, and run as who they should; the compose
// files are what Compose takes, publish the public ports alone, and refuse to start without secrets.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { makeSecrets } from '#cli/secrets/make-secrets.ts';
import { root } from '#cli/tasks/tools/processes.ts';
import { BASE_IMAGE, startDockerEngine, type DockerEngine } from '#test/setup/docker-engine.ts';
import type { Json } from '#test/setup/whole-platform.ts';

const FILES = [['compose.yaml'], ['compose.split.yaml'], ['compose.split.yaml', 'compose.handlers.yaml']];
const IMAGES = [
  'platform',
  'platform-handler',
  'platform-control',
  'platform-internal',
  'platform-web',
  'platform-builder',
  'platform-servers',
  'platform-sandbox-service',
  'platform-edge',
];
const PROFILES = ['redis', 'https', 'operator', 'migrator', 'sandbox', 'servers', 'legacy-libsql'].flatMap((name) => [
  '--profile',
  name,
]);

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

test('the images are built', { timeout: 3_600_000 }, async () => {
  // Its layers are those of all others; what is left is built at the same time.
  await compose(FILES[0]!, 'build', '--quiet', 'platform');
  const built = new Set<string>();
  for (const files of FILES.slice(0, 2)) {
    const { services } = parse(await compose(files, ...PROFILES, 'config')) as Json;
    // Each image once: Compose would make one of two services twice, at the same time.
    const names = Object.entries<Json>(services).flatMap(([name, { build, image }]) => {
      if (build === undefined || built.has(image)) return [];
      built.add(image);
      return [name];
    });
    await compose(files, ...PROFILES, 'build', '--quiet', '--parallel', ...names);
  }
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
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'artifacts',
    'bundles',
    'core',
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
  for (const image of IMAGES) {
    const user = (await engine.docker('run', '--rm', '--entrypoint', 'id', image, '-u')).trim();
    assert.equal(
      user,
      ['platform-builder', 'platform-servers', 'platform-sandbox-service'].includes(image) ? '0' : '10001',
      image,
    );
  }
});

test('the base of the handler has a C library that uWebSockets.js loads with', async () => {
  const script =
    'require("/opt/platform/node_modules/uWebSockets.js"); console.log(process.report.getReport().header.glibcVersionRuntime)';
  const version = await engine.docker('run', '--rm', '--entrypoint', 'node', 'platform-handler', '-e', script);
  const [major, minor] = version.trim().split('.').map(Number);
  assert.ok(major === 2 && minor! >= 38, version);
});

test('the compose files are taken; Caddy publishes the public ports, and the edge of `--profile https` 80 and 443', async () => {
  for (const files of FILES) {
    const { services } = parse(await compose(files, 'config')) as Json;
    const published = Object.entries<Json>(services).flatMap(([name, { ports = [], profiles = [] }]) =>
      // Compose writes those of all addresses as records.
      ports.map((port: string | { target: number }) => {
        const target = typeof port === 'string' ? /(\d+)\/\w+$/.exec(port)![1] : port.target;
        return [name, ...profiles, target].join(' ');
      }),
    );
    assert.deepEqual(
      [...new Set(published)].toSorted(),
      ['caddy 3002', 'caddy 3005', 'caddy 4001', 'caddy 4002', 'edge https 443', 'edge https 80'],
      files.join(),
    );
  }
});

test('AI providers of names that the compose files do not have reach the container of the gateway alone', async () => {
  const file = path.join(folder, 'ai.env');
  writeFileSync(file, 'AI_PROVIDER_GPU_KIND=openai\nAI_PROVIDER_GPU_KEY=secret-of-gpu\n');
  for (const [index, files] of FILES.entries()) {
    const config = await engine.compose(
      { BASE_IMAGE, AI_ENV_FILE: file },
      '--env-file',
      envFile,
      '--project-name',
      'images',
      ...files.flatMap((name) => ['--file', name]),
      ...PROFILES,
      'config',
    );
    const { services } = parse(config) as Json;
    const reached = Object.keys(services).filter((name) => JSON.stringify(services[name]).includes('secret-of-gpu'));
    assert.deepEqual(reached, [index === 0 ? 'platform' : 'api'], files.join());
  }
});

test('the sandbox service alone has the socket of the engine, and with the overlay of a provider nobody', async () => {
  for (const files of FILES) {
    const { services } = parse(await compose(files, 'config')) as Json;
    const withSocket = Object.entries<Json>(services).flatMap(([name, { volumes = [] }]) =>
      JSON.stringify(volumes).includes('docker.sock') ? [name] : [],
    );
    assert.deepEqual(withSocket, ['sandbox'], files.join());
    assert.deepEqual(services.sandbox.profiles, ['sandbox']);
    assert.equal(services.sandbox.ports, undefined);
  }
  const text = await compose(['compose.split.yaml', 'docker-compose.sandbox-boat.yml'], 'config');
  assert.doesNotMatch(text, /docker\.sock|podman\.sock|DOCKER_HOST: unix/);
  const { sandbox } = (parse(text) as Json).services;
  assert.equal(sandbox.environment.SANDBOX_PROVIDER, 'hosted');
  assert.equal(sandbox.user, '10001:10001');
  assert.equal(sandbox.privileged, undefined);
  assert.deepEqual(
    sandbox.volumes
      .map((volume: string | Json) =>
        typeof volume === 'string' ? volume.replace(/:rw$/, '') : `${volume.source}:${volume.target}`,
      )
      .toSorted(),
    ['/dev/null:/run/container-engine:ro', 'sandboxes:/data/sandboxes'],
  );
});

test('memory limits of services without a profile add up to 4 GB; servers for Node have a profile', async () => {
  for (const files of FILES.slice(0, 2)) {
    const { services } = parse(await compose(files, ...PROFILES, 'config')) as Json;
    const usual = Object.values<Json>(services).filter(({ profiles = [] }) => profiles.length === 0);
    // Compose 1.29 leaves them as they are written.
    const bytes = usual.map(({ mem_limit: limit }) => {
      const [, number, unit] = /^(\d+)([mg]?)$/.exec(String(limit))!;
      return Number(number) * { '': 1, m: 1024 ** 2, g: 1024 ** 3 }[unit!]!;
    });
    assert.equal(
      bytes.reduce((sum, each) => sum + each, 0),
      4 * 1024 ** 3,
      files.join(),
    );
    assert.deepEqual(services.servers.profiles, ['servers']);
  }
});

test('a libSQL server of before is started by its profile alone', async () => {
  for (const files of FILES) {
    const { services } = parse(await compose(files, 'config')) as Json;
    assert.deepEqual(services['legacy-libsql'].profiles, ['legacy-libsql']);
    assert.equal(services['legacy-libsql'].image, 'libsql-server:latest');
    assert.equal(services['legacy-libsql'].ports, undefined);
  }
  console.log('The image of a libSQL server cannot be had here: its profile is read, and not started');
});

test('without secrets nothing starts, and the command that makes them is named', async () => {
  const none = path.join(folder, 'none.env');
  writeFileSync(none, '');
  for (const files of FILES)
    await assert.rejects(
      engine.compose({}, '--env-file', none, ...files.flatMap((file) => ['--file', file]), 'config'),
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
