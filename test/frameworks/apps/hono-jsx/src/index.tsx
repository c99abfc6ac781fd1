import { Hono } from 'hono';
import { jsxRenderer } from 'hono/jsx-renderer';
import { Suspense } from 'hono/jsx/streaming';

const app = new Hono();

app.use(
  jsxRenderer(
    ({ children }) => (
      <html lang="en">
        <head>
          <title>Hono</title>
          <link rel="stylesheet" href="/style.css" />
          <script type="module" src="/counter.js"></script>
        </head>
        <body>{children}</body>
      </html>
    ),
    { stream: true },
  ),
);

app.get('/', (c) =>
  c.render(
    <main>
      <h1>Hello, {c.req.query('name') ?? 'stranger'}</h1>
      <p>version one</p>
      <button type="button">clicked 0 times</button>
    </main>,
  ),
);

app.get('/api/hello', (c) => c.json({ hello: c.req.query('name') }));

async function Later() {
  await new Promise((resolve) => setTimeout(resolve, 500));
  return <p>second part</p>;
}

app.get('/stream', (c) =>
  c.render(
    <main>
      <p>first part</p>
      <Suspense fallback={<p>...</p>}>
        <Later />
      </Suspense>
    </main>,
  ),
);

app.get('/form', (c) => {
  const name = c.req.query('name');
  return c.render(
    <form method="post" action="/form">
      <input name="name" />
      <button>Send</button>
      {name && <p>Thanks, {name}</p>}
    </form>,
  );
});

app.post('/form', async (c) => {
  const { name } = await c.req.parseBody();
  return c.redirect(`/form?name=${encodeURIComponent(String(name))}`, 303);
});

export default app;
