import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { checks } from '#test/frameworks/checks.ts';
import { filesOf, visitorOf, type Visitor } from '#test/frameworks/visitor.ts';

async function visit(t: TestContext, answer: RequestListener): Promise<Visitor> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return visitorOf(`http://app.localhost:${port}`, { host: '127.0.0.1', port });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}

test('a form is sent with its hidden fields, origin and cookies, and the redirect after it is followed', async (t) => {
  const visitor = await visit(t, async (request, response) => {
    if (request.method === 'POST') {
      const { host, origin, cookie } = request.headers;
      assert.equal(origin, `http://${host}`);
      assert.equal(cookie, 'seen=1');
      response.writeHead(303, { location: `/done?${await bodyOf(request)}` }).end();
    } else if (request.url === '/form')
      response
        .writeHead(200, { 'set-cookie': 'seen=1; Path=/' })
        .end(
          '<form method="POST" action="?/send"><input type="hidden" name="token" value="t&amp;1"><input name="name"></form>',
        );
    else response.end(`at ${request.url}`);
  });
  assert.equal((await visitor.submit('/form', { name: 'Ada' })).text, 'at /done?token=t%261&name=Ada');
});

test('a form of another encoding is sent in parts', async (t) => {
  const visitor = await visit(t, async (request, response) => {
    if (request.method === 'POST') {
      const asked = new Request('http://x/', {
        method: 'POST',
        headers: { 'content-type': request.headers['content-type']! },
        body: await bodyOf(request),
      });
      response.end(String((await asked.formData()).get('name')));
    } else response.end('<form method="post" enctype="multipart/form-data"><input name="name"></form>');
  });
  assert.equal((await visitor.submit('/form', { name: 'Ada' })).text, 'Ada');
});

test('an answer that comes in one piece is no stream, and one whose second part comes later is', async (t) => {
  const whole = await visit(t, (_, response) => void response.end('first part, second part'));
  await assert.rejects(checks.stream(whole, { kind: 'dynamic' }), /in one piece/);
  const parts = await visit(t, (_, response) => {
    response.write('first part');
    setTimeout(() => response.end('second part'), 50);
  });
  await checks.stream(parts, { kind: 'dynamic' });
});

test('a page that says less than it should fails, with what it said', async (t) => {
  const visitor = await visit(t, (_, response) => void response.end('Hello, stranger'));
  await assert.rejects(checks.page(visitor, { kind: 'dynamic' }), /no "Hello, Ada" in: Hello, stranger/);
  await assert.rejects(checks.missing(visitor, { kind: 'dynamic' }), /200: Hello/);
});

test('the files of a page are its scripts, styles and images, without those of other sites', () => {
  const page = `<link rel="stylesheet" href="/a.css"><link rel="canonical" href="/page"><script src="/b.js?v=1"></script>
    <script>inline</script><img src="c.png"><script src="https://cdn.example/d.js"></script><img src="//cdn.example/e.png">`;
  assert.deepEqual(filesOf(page), ['/a.css', '/b.js?v=1', 'c.png']);
});
