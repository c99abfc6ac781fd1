// What many projects are made of: a router and validation, half a megabyte once bundled.
import { Hono } from 'hono';
import * as z from 'zod';

const order = z.object({
  name: z.string().min(1),
  email: z.email(),
  items: z.array(z.object({ id: z.int(), count: z.int().min(1) })),
});
const app = new Hono();
app.get('/', (context) => context.text('Hello World'));
app.get('/orders/:id', (context) => context.json({ id: context.req.param('id') }));
app.get('/locales', (context) => context.json(Object.keys(z.locales)));
app.post('/orders', async (context) => context.json(order.parse(await context.req.json())));

export default app;
