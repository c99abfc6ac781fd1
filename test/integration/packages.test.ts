// Packages as users use them, unmodified, each in a worker of test/packages/workers. The table says what is asked of
// which.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import type { TestHandler, TestRequest } from '#test/setup/handler.ts';
import { skipPackages, startPackages } from '#test/setup/packages.ts';

interface Check {
  /** `METHOD /path`. */
  readonly ask: string;
  readonly send?: Pick<TestRequest, 'headers' | 'body'>;
  readonly status?: number;
  readonly answer: RegExp;
}

const json = { 'content-type': 'application/json' };
const rpc = { ...json, accept: 'application/json, text/event-stream' };
const addition = JSON.stringify({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'add', arguments: { a: 2, b: 40 } },
});
const initialise = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

/** Package (and what of it) -> worker and requests. */
const table: Readonly<Record<string, readonly [worker: string, ...checks: Check[]]>> = {
  'hono: JWT': ['hono', { ask: 'GET /private/me', status: 401, answer: /Unauthorized/ }],
  'hono: cookies': [
    'hono',
    {
      ask: 'GET /cookies',
      send: { headers: { cookie: 'plain=v%201; signed=forged' } },
      answer: /^\{"plain":"v 1","signed":null\}$/,
    },
  ],
  'hono: streaming': [
    'hono',
    { ask: 'GET /stream', answer: /^ABpiped$/ },
    { ask: 'GET /text', answer: /^a\nb\n$/ },
    { ask: 'GET /sse', answer: /^event: tick\ndata: tick 0\nid: 0\n\n[^]*data: tick 2\nid: 2\n\n$/ },
  ],
  'hono: middleware': [
    'hono',
    { ask: 'GET /basic', send: { headers: { authorization: `Basic ${btoa('u:p')}` } }, answer: /^in$/ },
    { ask: 'GET /basic', status: 401, answer: /Unauthorized/ },
    { ask: 'GET /fails', status: 418, answer: /^teapot$/ },
    { ask: 'GET /nowhere', status: 404, answer: /^\{"missing":"\/nowhere"\}$/ },
    {
      ask: 'POST /form',
      send: { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'name=Ada+L' },
      answer: /^\{"name":"Ada L"\}$/,
    },
    {
      ask: 'POST /upload',
      send: {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body: '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x--\r\n',
      },
      answer: /^\{"name":"a.txt","type":"text\/plain","text":"hello"\}$/,
    },
  ],
  'itty-router': [
    'itty-router',
    { ask: 'GET /hello/Ada?x=1', answer: /^\{"name":"Ada","query":\{"x":"1"\}\}$/ },
    { ask: 'POST /echo', status: 201, send: { headers: json, body: '{"a":1}' }, answer: /^\{"a":1\}$/ },
    { ask: 'GET /fails', status: 403, answer: /^\{"status":403,"error":"no"\}$/ },
    { ask: 'GET /throws', status: 500, answer: /^\{"status":500,"error":"broken"\}$/ },
  ],
  'zod and valibot': [
    'validation',
    {
      ask: 'POST /',
      send: { headers: json, body: '{"name":"Ada","email":"a@b.co","age":"36"}' },
      answer:
        /^\{"zod":\{"name":"Ada","email":"a@b.co","tags":\[\],"age":36\},"schema":\["name","email","tags"\],"valibot":"ADA"\}$/,
    },
    {
      ask: 'POST /',
      send: { headers: json, body: '{"name":"A","email":"x"}' },
      answer:
        /"zod":\[\["name","too_small"\],\["email","invalid_format"\]\].*"valibot":\[\["name","min_length"\],\["email","email"\]\]/,
    },
  ],
  'jose: five signatures and JWE': [
    'jose',
    {
      ask: 'GET /',
      answer:
        /^\{"RS256":\["admin","k1",43\],"PS256":\["admin","k1",43\],"ES256":\["admin","k1",43\],"ES384":\["admin","k1",43\],"EdDSA":\["admin","k1",43\],"jwe":"hidden"\}$/,
    },
  ],
  'date-fns': ['small', { ask: 'GET /', answer: /"date-fns":\["2026-02-28",31,"2 Tage"\]/ }],
  fflate: ['small', { ask: 'GET /', answer: /"fflate":\[600,\["a.txt","folder\/","folder\/b.txt"\],"x"\]/ }],
  marked: [
    'small',
    { ask: 'GET /', answer: /"marked":"<h1>Title<\/h1>.*<strong>b<\/strong>.*language-js.*<td>2<\/td>/ },
  ],
  mustache: ['small', { ask: 'GET /', answer: /"mustache":"<b>A&amp;B<\/b>\? <b>C<\/b> <i>"/ }],
  nanoid: ['small', { ask: 'GET /', answer: /"nanoid":\[21,true,1000\]/ }],
  papaparse: [
    'small',
    { ask: 'GET /', answer: /"papaparse":\[\[\{"a":1,"b":"x, \\"y\\""\}\],"a,b\\r\\n1,\\"x,y\\""\]/ },
  ],
  qrcode: ['small', { ask: 'GET /', answer: /"qrcode":\["<svg xmlns=.*",21,true\]/ }],
  'OpenTelemetry API': ['small', { ask: 'GET /', answer: /"opentelemetry":\[false,2,\[\]\]/ }],
  'graphql-yoga: queries and subscriptions': [
    'graphql-yoga',
    {
      ask: 'POST /graphql',
      send: { headers: json, body: '{"query":"{ hello(name: \\"Ada\\") fails }"}' },
      answer: /"hello":"Hello Ada","fails":null/,
    },
    {
      ask: 'GET /graphql?query=subscription{countdown(from:2)}',
      send: { headers: { accept: 'text/event-stream' } },
      answer: /"countdown":2[^]*"countdown":1[^]*"countdown":0[^]*event: complete/,
    },
  ],
  'drizzle-orm': [
    'sql',
    {
      ask: 'GET /',
      answer:
        /where \(\\"users\\".\\"age\\" > \? and \\"users\\".\\"name\\" = \?\) group by .*"params":\[30,"Ada",5\]\},"rows":\[\{"id":1,"name":"Ada","age":36\}\]/,
    },
  ],
  kysely: [
    'sql',
    {
      ask: 'GET /',
      answer:
        /"sql":"select \\"p\\".\\"id\\", \\"pet\\".\\"name\\" from \\"person\\" as \\"p\\" inner join .*"insert":"insert into \\"person\\" \(\\"name\\"\) values \(\$1\) returning \\"id\\"","run":\[\]/,
    },
  ],
  'openai: calls, streams, errors, uploads': [
    'ai',
    { ask: 'GET /openai', answer: /^\{"text":"Hello from hi","id":"req_1"\}$/ },
    { ask: 'GET /openai-stream', answer: /"content":"one"[^]*"content":"two"/ },
    { ask: 'GET /openai-fails', answer: /^\{"status":404,"name":"NotFoundError"\}$/ },
    {
      ask: 'GET /openai-upload',
      answer: /^\{"id":"file-1","filename":"a.txt","purpose":"assistants","text":"content"\}$/,
    },
  ],
  'ai: tools, text and UI streams with a mock model': [
    'ai',
    { ask: 'GET /ai', answer: /^\{"text":"It is sunny.","steps":2,"result":"sunny in Berlin"\}$/ },
    { ask: 'GET /ai-stream', answer: /^Hello, world$/ },
    { ask: 'GET /ai-ui', answer: /"delta":"world"[^]*data: \[DONE\]/ },
  ],
  '@modelcontextprotocol/sdk': [
    'mcp',
    {
      ask: 'POST /v1',
      send: { headers: rpc, body: initialise },
      answer: /"serverInfo":\{"name":"v1","version":"1.0.0"\}/,
    },
    {
      ask: 'POST /v1',
      send: { headers: { ...rpc, 'mcp-protocol-version': '2025-06-18' }, body: addition },
      answer: /"text":"42"/,
    },
  ],
  '@modelcontextprotocol/server': [
    'mcp',
    {
      ask: 'POST /v2',
      send: { headers: rpc, body: initialise },
      answer: /"serverInfo":\{"name":"v2","version":"1.0.0"\}/,
    },
    {
      ask: 'POST /v2',
      send: { headers: { ...rpc, 'mcp-protocol-version': '2025-06-18' }, body: addition },
      answer: /"text":"42"/,
    },
  ],
  'stripe: calls': ['signing', { ask: 'GET /stripe-call', answer: /^\{"id":"cus_1","email":"a@b.c"\}$/ }],
  aws4fetch: [
    'signing',
    {
      ask: 'GET /',
      answer:
        /AWS4-HMAC-SHA256 Credential=AKID\/.*X-Amz-Signature=6858dbb0b896465efb8439a9f2b656d37302f5c5a9c4e0e7000f49fa37a5d170/,
    },
  ],
  'react-dom/server: streaming': [
    'rendering',
    { ask: 'GET /react', answer: /^<main>early<!--\$\?-->.*waiting.*<em>late<\/em>/ },
    { ask: 'GET /react-static', answer: /^<p class="x" style="color:red">&lt;&amp;&gt;<\/p>$/ },
  ],
  'preact-render-to-string': ['rendering', { ask: 'GET /preact', answer: /^<b class="n">2<\/b><i>later<\/i>$/ }],
  'vue/server-renderer': [
    'rendering',
    { ask: 'GET /vue', answer: /^<p class="a b">vue 3 &lt;<\/p>$/ },
    { ask: 'GET /vue-stream', answer: /^<p class="a b">vue 3 &lt;<\/p>$/ },
  ],
  'hash-wasm': [
    'wasm',
    {
      ask: 'GET /',
      answer:
        /^\["a9993e364706816aba3e25717850c26c9cd0d89d","6437b3ac38465133","44bc2cf5ad770999","ba7816bf8f01cfea"\]$/,
    },
  ],
};

let handler: TestHandler;
let api: Server;

before(async () => {
  if (skipPackages !== false) return;
  api = createServer(answerApi);
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const names = [...new Set([...Object.values(table).map(([worker]) => worker), 'better-auth'])];
  handler = await startPackages(names, { OPENAI_URL: `${url}/v1`, API_URL: url });
});
after(async () => {
  await handler?.close();
  api?.close();
});

for (const [name, [worker, ...checks]] of Object.entries(table)) {
  test(`${name} works in a worker`, { skip: skipPackages }, async () => {
    for (const { ask, send, status, answer } of checks) {
      const [method, path] = ask.split(' ') as [string, string];
      const response = await handler.fetch(worker, path, { method, ...send });
      assert.match(response.text, answer, `${ask}: ${JSON.stringify(handler.logs.at(-1))}`);
      assert.equal(response.status, status ?? 200, ask);
    }
  });
}

test('hono: a signed token and a signed cookie are accepted again', { skip: skipPackages }, async () => {
  const token = (await handler.fetch('hono', '/token')).text;
  const me = await handler.fetch('hono', '/private/me', { headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual(me.json(), { sub: 'ada', exp: 4_000_000_000 });
  const given = (await handler.fetch('hono', '/cookies')).headers['set-cookie'] as string[];
  assert.match(given[0] ?? '', /^plain=v%201; Max-Age=60; .*HttpOnly/);
  const cookie = given.map((line) => line.split(';')[0]).join('; ');
  assert.deepEqual((await handler.fetch('hono', '/cookies', { headers: { cookie } })).json(), {
    plain: 'v 1',
    signed: 'v2',
  });
});

test('hono: entity tags, compression and CORS are in the headers', { skip: skipPackages }, async () => {
  const { etag } = (await handler.fetch('hono', '/etag')).headers;
  assert.equal((await handler.fetch('hono', '/etag', { headers: { 'if-none-match': String(etag) } })).status, 304);
  const packed = await handler.fetch('hono', '/compressed', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(packed.body).toString(), 'long text '.repeat(500));
  const cors = await handler.fetch('hono', '/cors/x', { headers: { origin: 'https://a.example' } });
  assert.equal(cors.headers['access-control-allow-origin'], 'https://a.example');
});

test('hono: upgradeWebSocket answers with a socket', { skip: skipPackages }, async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${handler.port}/socket`, { headers: { host: 'hono.localhost' } });
  await once(socket, 'open');
  socket.send('hello');
  const [message] = (await once(socket, 'message')) as [Buffer];
  assert.equal(message.toString(), 'echo hello');
  socket.close();
  await once(socket, 'close');
});

test('stripe: a webhook is accepted with its signature only', { skip: skipPackages }, async () => {
  const body = JSON.stringify({ id: 'evt_1', object: 'event', type: 'customer.created' });
  const signature = (await handler.fetch('signing', '/stripe-header', { method: 'POST', body })).text;
  const headers = { 'stripe-signature': signature };
  assert.deepEqual((await handler.fetch('signing', '/stripe', { method: 'POST', body, headers })).json(), {
    later: 'customer.created',
  });
  const forged = await handler.fetch('signing', '/stripe', { method: 'POST', body: `${body} `, headers });
  assert.deepEqual([forged.status, forged.json()], [400, { error: 'StripeSignatureVerificationError' }]);
});

test('better-auth: sign-up, session, sign-in and a wrong password', { skip: skipPackages }, async () => {
  const origin = 'http://better-auth.localhost';
  const post = (path: string, body: object): ReturnType<TestHandler['fetch']> =>
    handler.fetch('better-auth', `/api/auth${path}`, {
      method: 'POST',
      headers: { ...json, origin },
      body: JSON.stringify(body),
    });
  const account = { email: 'ada@example.com', password: 'correct horse battery' };
  const made = await post('/sign-up/email', { ...account, name: 'Ada' });
  assert.equal(made.status, 200, made.text);
  const cookie = (made.headers['set-cookie'] as string[]).map((line) => line.split(';')[0]).join('; ');
  const session = (await handler.fetch('better-auth', '/api/auth/get-session', { headers: { cookie } })).json() as {
    user: { name: string };
  };
  assert.equal(session.user.name, 'Ada');
  assert.equal((await post('/sign-in/email', account)).status, 200);
  assert.equal((await post('/sign-in/email', { ...account, password: 'wrong password' })).status, 401);
});

test('resvg: a PNG comes out of WebAssembly', { skip: skipPackages }, async () => {
  const { body, headers } = await handler.fetch('wasm', '/image');
  assert.equal(headers['content-type'], 'image/png');
  assert.equal(body.subarray(1, 4).toString(), 'PNG');
  assert.deepEqual([body.readUInt32BE(16), body.readUInt32BE(20)], [20, 10]);
});

/** The services the clients talk to. */
function answerApi(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse): void {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (part: string) => (text += part));
  request.on('end', () => {
    const send = (status: number, value: object): void => {
      response
        .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1' })
        .end(JSON.stringify(value));
    };
    if (request.url === '/v1/files')
      send(200, {
        id: 'file-1',
        filename: /filename="([^"]*)"/.exec(text)?.[1],
        purpose: /name="purpose"\r\n\r\n(\w+)/.exec(text)?.[1],
        text: /\r\n\r\n(content)\r\n/.exec(text)?.[1],
      });
    else if (request.url === '/v1/customers') send(200, { id: 'cus_1', email: new URLSearchParams(text).get('email') });
    else if (request.url !== '/v1/chat/completions')
      send(404, { error: { message: 'no such model', type: 'invalid_request_error' } });
    else if (JSON.parse(text).stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const content of ['one', 'two'])
        response.write(
          `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`,
        );
      response.end('data: [DONE]\n\n');
    } else {
      const { messages } = JSON.parse(text) as { messages: { content: string }[] };
      send(200, {
        id: 'c',
        choices: [{ index: 0, message: { role: 'assistant', content: `Hello from ${messages[0]?.content}` } }],
      });
    }
  });
}
