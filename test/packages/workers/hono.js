// hono: routes, JWT, cookies, streams and the middleware people use. Run by test/integration/packages.test.ts.
import { Hono } from 'hono';
import { getCookie, getSignedCookie, setCookie, setSignedCookie } from 'hono/cookie';
import { jwt, sign } from 'hono/jwt';
import { stream, streamSSE, streamText } from 'hono/streaming';
import { upgradeWebSocket } from 'hono/cloudflare-workers';
import { cors } from 'hono/cors';
import { etag } from 'hono/etag';
import { compress } from 'hono/compress';
import { logger } from 'hono/logger';
import { basicAuth } from 'hono/basic-auth';
import { secureHeaders } from 'hono/secure-headers';
import { HTTPException } from 'hono/http-exception';
import { validator } from 'hono/validator';

const app = new Hono();
app.use(logger());
app.use('/cors/*', cors({ origin: 'https://a.example', credentials: true }));
app.get('/cors/x', (c) => c.text('x'));
app.get('/token', async (c) => c.text(await sign({ sub: 'ada', exp: 4_000_000_000 }, 'secret', 'HS256')));
app.use('/private/*', jwt({ secret: 'secret', alg: 'HS256' }));
app.get('/private/me', (c) => c.json(c.get('jwtPayload')));
app.get('/cookies', async (c) => {
  setCookie(c, 'plain', 'v 1', { httpOnly: true, maxAge: 60 });
  await setSignedCookie(c, 'signed', 'v2', 'secret');
  return c.json({
    plain: getCookie(c, 'plain') ?? null,
    signed: (await getSignedCookie(c, 'secret', 'signed')) ?? null,
  });
});
app.get('/stream', (c) =>
  stream(c, async (out) => {
    await out.write(new Uint8Array([65, 66]));
    await out.sleep(2);
    await out.pipe(new Response('piped').body);
  }),
);
app.get('/text', (c) =>
  streamText(c, async (out) => {
    for (const line of ['a', 'b']) await out.writeln(line);
  }),
);
app.get('/sse', (c) =>
  streamSSE(c, async (out) => {
    for (let id = 0; id < 3; id++) await out.writeSSE({ data: `tick ${id}`, event: 'tick', id: String(id) });
  }),
);
app.get('/etag', etag(), (c) => c.text('tagged'));
app.get('/compressed', compress(), (c) => c.text('long text '.repeat(500)));
app.get('/basic', basicAuth({ username: 'u', password: 'p' }), (c) => c.text('in'));
app.get('/secure', secureHeaders(), (c) => c.text('safe'));
app.get('/fails', () => {
  throw new HTTPException(418, { message: 'teapot' });
});
app.post(
  '/form',
  validator('form', (value, c) => (typeof value.name === 'string' ? { name: value.name } : c.text('no name', 400))),
  (c) => c.json(c.req.valid('form')),
);
app.post('/upload', async (c) => {
  const { file } = await c.req.parseBody();
  return c.json({ name: file.name, type: file.type, text: await file.text() });
});
app.get(
  '/socket',
  upgradeWebSocket(() => ({ onMessage: (event, socket) => socket.send(`echo ${event.data}`) })),
);
app.notFound((c) => c.json({ missing: c.req.path }, 404));

export default app;
