// `--profile https`: the edge container gets certificates of an ACME authority for hosts that somebody has, for no
// others, and leads to the handler. The authority is Caddy's, in a container beside it.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startComposePlatform, type ComposePlatform } from '#test/setup/compose-platform.ts';
import { get } from '#test/setup/edge.ts';
import { freePort } from '#test/setup/free-port.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const HOST = 'hello.apps.test';
const STRANGER = 'stranger.apps.test';
/** A folder of the image that its user may write in. */
const SHARED = '/data/files';
const ROOT = `${SHARED}/pki/authorities/local/root.crt`;
/** As test/setup/edge.ts has it on a machine; here names lead from container to container. */
const authority = {
  admin: { disabled: true },
  storage: { module: 'file_system', root: SHARED },
  apps: {
    http: {
      http_port: 19_480,
      https_port: 19_443,
      servers: {
        ca: {
          listen: [':19443'],
          automatic_https: { disable: true },
          tls_connection_policies: [{}],
          routes: [{ handle: [{ handler: 'acme_server', ca: 'local', host: 'acme.test' }] }],
        },
      },
    },
    tls: {
      certificates: { automate: ['acme.test'] },
      automation: { policies: [{ subjects: ['acme.test'], issuers: [{ module: 'internal' }] }] },
    },
    pki: { certificate_authorities: { local: { install_trust: false } } },
  },
};
const overlay = (folder: string): object => ({
  services: {
    authority: {
      image: 'platform-edge',
      entrypoint: ['caddy', 'run', '--config', '/config/caddy.json'],
      environment: { XDG_DATA_HOME: '/tmp', XDG_CONFIG_HOME: '/tmp' },
      healthcheck: { test: ['CMD', 'test', '-s', ROOT], interval: '1s', retries: 60 },
      volumes: [`${folder}:/config:ro`, `authority:${SHARED}`],
      networks: { front: { aliases: ['acme.test'] } },
    },
    edge: {
      volumes: [`authority:${SHARED}:ro`],
      networks: { front: { aliases: [HOST, STRANGER] } },
      depends_on: { authority: { condition: 'service_healthy' } },
    },
  },
  volumes: { authority: null },
});

let platform: ComposePlatform;
let folder: string;
let port: number;
let root: string;

before(
  async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'platform-https-'));
    // The authority's user reads it.
    chmodSync(folder, 0o755);
    mkdirSync(path.join(folder, 'src'));
    const file = path.join(folder, 'overlay.yaml');
    writeFileSync(file, JSON.stringify(overlay(folder)));
    writeFileSync(path.join(folder, 'caddy.json'), JSON.stringify(authority));
    port = await freePort();
    platform = await startComposePlatform(
      ['compose.split.yaml', file],
      { COMPOSE_PROFILES: 'https' },
      {
        PUBLIC_HTTPS: 'on',
        PUBLIC_PROTOCOL: 'https',
        PUBLIC_PORT: String(port),
        HANDLER_DOMAIN: 'apps.test',
        EDGE_HTTP_PORT: String(await freePort()),
        EDGE_HTTPS_PORT: String(port),
        ACME_URL: 'https://acme.test:19443/acme/local/directory',
        ACME_CA_FILE: ROOT,
      },
    );
    const id = (await platform.compose('ps', '--quiet', 'authority')).trim();
    root = await platform.engine.docker('exec', id, 'cat', ROOT);
    writeFileSync(path.join(folder, 'platform.yaml'), 'name: hello\nkind: worker\n');
    const worker = 'export default { fetch: (request) => new Response(new URL(request.url).protocol) };\n';
    writeFileSync(path.join(folder, 'src/index.ts'), worker);
    await platform.cli(folder, 'deploy', '--prod', '--json');
  },
  { timeout: 300_000 },
);

after(async () => {
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a deployment answers over https with a certificate of the authority', async () => {
  const answer = await eventually('An answer over https', () => get(HOST, '/', { port, ca: root }));
  assert.deepEqual([answer.status, answer.text], [200, 'https:']);
});

test('a host that nobody has is refused in the handshake', async () => {
  await assert.rejects(get(STRANGER, '/', { port }), /alert|internal error/i);
});

test('beside the public ports, the edge alone publishes: 80 and 443', async () => {
  const names = await platform.engine.docker(
    'ps',
    '--filter',
    `label=com.docker.compose.project=${platform.project}`,
    '--format',
    '{{.Label "com.docker.compose.service"}} {{.Ports}}',
  );
  const publishing = names.split('\n').filter((line) => line.includes('->'));
  assert.deepEqual(publishing.map((line) => line.split(' ', 1)[0]).toSorted(), ['caddy', 'edge']);
  const edge = publishing.find((line) => line.startsWith('edge'))!;
  assert.deepEqual([...new Set([...edge.matchAll(/->(\d+)/g)].map(([, to]) => to))].toSorted(), ['443', '80']);
});
