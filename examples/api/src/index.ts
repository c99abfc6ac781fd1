// An API on npm packages: Hono routes, zod checks what comes in, jose signs and verifies the tokens.
// Try: POST /login {"name": "ada"}, then POST /notes {"text": "..."} with `Authorization: Bearer <token>`.
import { Hono } from 'hono';
import { SignJWT, jwtVerify } from 'jose';
import { z } from 'zod';

interface Env {
  readonly Bindings: { readonly vars: Readonly<Record<string, string>> };
  readonly Variables: { user: string };
}

const Login = z.object({ name: z.string().trim().min(1).max(40) });
const Note = z.object({ text: z.string().min(1).max(500), tags: z.array(z.string()).max(5).default([]) });

/** Tokens of an example: without a secret of its own it signs with a well-known one. */
function keyOf(vars: Readonly<Record<string, string>>): Uint8Array {
  return new TextEncoder().encode(vars['JWT_SECRET'] ?? 'example-secret-set-JWT_SECRET-instead');
}

const app = new Hono<Env>();

app.get('/', (c) => c.json({ name: 'api', routes: ['POST /login', 'POST /notes', 'GET /whoami'] }));

app.post('/login', async (c) => {
  const login = Login.safeParse(await c.req.json().catch(() => null));
  if (!login.success) return c.json({ error: z.prettifyError(login.error) }, 400);
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(login.data.name)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(keyOf(c.env.vars));
  return c.json({ token });
});

app.use('/notes', authenticate).use('/whoami', authenticate);

app.get('/whoami', (c) => c.json({ name: c.get('user') }));

app.post('/notes', async (c) => {
  const note = Note.safeParse(await c.req.json().catch(() => null));
  if (!note.success) return c.json({ error: z.prettifyError(note.error) }, 400);
  return c.json({ ...note.data, id: crypto.randomUUID(), author: c.get('user') }, 201);
});

async function authenticate(
  c: Parameters<Parameters<typeof app.use>[1]>[0],
  next: () => Promise<void>,
): Promise<Response | void> {
  const token = c.req.header('authorization')?.replace(/^Bearer /, '') ?? '';
  const verified = await jwtVerify(token, keyOf(c.env.vars)).catch(() => null);
  if (verified === null) return c.json({ error: 'A valid token is needed: POST /login gives one' }, 401);
  c.set('user', verified.payload.sub ?? '');
  await next();
}

export default app;
