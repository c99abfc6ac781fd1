// The settings for an operator's own Caddy and nginx as docs/domains.md has them, before a platform: the blocks are
// taken from the page, and only the files of the certificate are of this test.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { get, handshake, selfSigned } from '#test/setup/edge.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const HOST = 'shop.apps.example.net';
const BODY = 'x'.repeat(3_000_000);
const WORKER = `
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/socket') {
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      server.addEventListener('message', ({ data }) => server.send('echo ' + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === '/events') {
      // No end: whoever holds back until there is more shows nothing.
      const body = new ReadableStream({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode('data: tick\\n\\n'));
          await new Promise((resolve) => setTimeout(resolve, 200));
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    }
    const bytes = (await request.text()).length;
    return Response.json({ url: request.url, bytes, from: request.headers.get('x-forwarded-for') });
  },
};`;

let platform: TestPlatform;
let folder: string;
let ca: string;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'platform-own-proxy-'));
  [, ca] = selfSigned('*.apps.example.net', folder, 'apps');
  platform = await startPlatform(
    { shop: WORKER },
    {
      HANDLER_PORT: '4001',
      HANDLER_DOMAIN: 'apps.example.net',
      PUBLIC_PROTOCOL: 'https',
      PUBLIC_PORT: '443',
      TRUSTED_PROXIES: '127.0.0.1',
    },
  );
});
after(async () => {
  await platform?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The block behind a line of the page. */
function blockBehind(line: string): string {
  const page = readFileSync('docs/domains.md', 'utf8');
  const text = page.split(`\n${line}\n\n\`\`\`text\n`)[1]?.split('\n```')[0];
  assert.ok(text, `docs/domains.md has no block behind "${line}"`);
  return text
    .replaceAll('/etc/ssl/apps.pem', path.join(folder, 'apps.crt'))
    .replaceAll('/etc/ssl/apps.key', path.join(folder, 'apps.key'));
}

function startCaddy(): ChildProcess {
  const file = path.join(folder, 'Caddyfile');
  writeFileSync(file, blockBehind('Caddy:'));
  return spawn(process.env['CADDY_BIN'] ?? 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
}

function startNginx(): ChildProcess {
  const file = path.join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder};`);
  writeFileSync(
    file,
    `daemon off; user root; pid ${folder}/nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')}
${blockBehind('nginx:')}
}
`,
  );
  return spawn('nginx', ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
}

for (const [name, start] of [
  ['Caddy', startCaddy],
  ['nginx', startNginx],
] as const)
  test(`${name} as in docs/domains.md passes on host, address, bodies, WebSockets and events as they come`, async () => {
    const proxy = start();
    try {
      await until(() => {
        assert.equal(proxy.exitCode, null, 'it has ended: its words stand above');
        return handshake(HOST).catch(() => null);
      });
      const answer = await get(HOST, '/page?q=1', {
        ca,
        method: 'POST',
        body: BODY,
        headers: { 'x-forwarded-for': '203.0.113.7', 'content-length': String(BODY.length) },
      });
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(JSON.parse(answer.text), {
        url: `https://${HOST}/page?q=1`,
        bytes: BODY.length,
        from: '127.0.0.1',
      });
      const socket = new WebSocket(`wss://${HOST}/socket`, { ca });
      await once(socket, 'open');
      socket.send('hello');
      const [data] = (await once(socket, 'message')) as [Buffer];
      assert.equal(String(data), 'echo hello');
      socket.terminate();
      assert.match(await firstOf('/events'), /^HTTP\/1\.1 200[\s\S]*data: tick/);
    } finally {
      proxy.kill('SIGTERM');
      if (proxy.exitCode === null) await once(proxy, 'exit');
    }
  });

/** What has come of a response when its first event is there. */
async function firstOf(target: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: 443, servername: HOST, ca });
  await once(socket, 'secureConnect');
  socket.write(`GET ${target} HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`);
  let text = '';
  for await (const part of socket) {
    text += String(part);
    if (text.includes('data: tick') || !text.startsWith('HTTP/1.1 200')) break;
  }
  return text;
}
