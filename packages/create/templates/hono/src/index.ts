// A Hono app as a worker.
import { Hono } from 'hono';
import { logger } from 'hono/logger';

const app = new Hono<{ Bindings: PlatformEnv }>();

app.use(logger());
app.get('/', (c) => c.text(`Hello from ${c.env.vars.NAME ?? '__name__'}\n`));
app.get('/users/:id', (c) => c.json({ id: c.req.param('id') }));
app.notFound((c) => c.json({ error: 'Not found' }, 404));

export default app;
