// The text of an app with as many routes as one likes, for the type checker: the test says that it checks, the bench
// how long it takes.

const head = `import { platform } from '@platform-run/worker';
import { createClient } from '@platform-run/worker/client';
import { z } from 'zod';
const User = z.object({ id: z.string(), kind: z.enum(['a', 'b']), tags: z.array(z.string()) });
const Failure = z.object({ error: z.string() });
`;

/** The text of an app with many routes, each with schemas of its own. */
export function manyRoutes(count: number): string {
  const lines = [head, 'const app = platform()'];
  for (let at = 0; at < count; at++) {
    const method = ['get', 'post', 'put', 'patch', 'delete'][at % 5]!;
    const hasBody = ['post', 'put', 'patch'].includes(method);
    const body = hasBody ? ', body: z.object({ name: z.string(), n: z.number().optional() })' : '';
    const options = `{ params: z.object({ id: z.string() }), query: z.object({ q: z.string().optional() })${body}, response: { 200: User, 404: Failure } }`;
    const handler = `async (ctx) => { if (ctx.query.q) return ctx.json({ error: 'x' }, 404); return { id: ctx.params.id, kind: 'a', tags: [${hasBody ? 'ctx.body.name' : ''}] }; }`;
    lines.push(`  .${method}('/r${at}/:id', ${options}, ${handler})`);
  }
  lines.push('  .build();', "const api = createClient<typeof app>('');", 'export async function use() {');
  for (let at = 0; at < count; at += 25)
    lines.push(
      `  const a${at} = await api.get('/r${at}/:id', { params: { id: 'x' } }); if (a${at}.ok) a${at}.data.kind satisfies 'a' | 'b';`,
    );
  return [...lines, '}', ''].join('\n');
}
