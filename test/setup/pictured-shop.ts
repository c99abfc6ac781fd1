// The project that the pictures of the documentation show: pushed four times, with a preview, and an hour of requests,
// one of which failed. Its past is written into the ledger; everything else happens.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { addUsage } from '#control/usage/store.ts';
import { bucketOf, latencyScale, toSparse, type SparseCounts } from '#core/histogram.ts';
import type { TimedUsageRow } from '#core/usage-row.ts';
import { findEmbeddedPostgres } from '#postgres/embedded.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import { send } from './send.ts';
import type { SharedDashboard } from './shared-dashboard.ts';
import { usageRow } from './usage-row.ts';
import { API_PAUSE_MS, eventually, type Json } from './whole-platform.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const files = {
  'platform.yaml':
    'name: tea-shop\nai: true\ndb:\n  DB: orders\nqueue:\n  MAIL: mail\ncron:\n  REPORT: "0 6 * * *"\nbuild: node generate.mjs\n',
  'generate.mjs': `import { readFileSync, writeFileSync } from 'node:fs';
const teas = readFileSync('teas.csv', 'utf8').trim().split('\\n');
writeFileSync('src/teas.json', JSON.stringify(teas));
console.log('Wrote src/teas.json: ' + teas.length + ' teas from teas.csv');
`,
  'teas.csv': 'Assam\nDarjeeling\nEarl Grey\nGenmaicha\nOolong\nSencha\n',
  'migrations/0001_orders.sql': 'CREATE TABLE orders (id INTEGER PRIMARY KEY, tea TEXT NOT NULL, grams INTEGER);\n',
  'src/index.ts': `import { checkout } from './checkout.ts';

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/checkout') return checkout(env.DB, null);
    if (pathname === '/advice') return Response.json(await env.AI.run('auto', { messages: [{ role: 'user', content: 'Which tea?' }] }));
    return new Response('Tea');
  },
  scheduled() {},
  queue() {},
};
`,
  'src/checkout.ts': `export async function checkout(db, cart) {
  console.log('checkout', cart);
  await db.prepare('INSERT INTO orders (tea, grams) VALUES (?, ?)').bind(cart.tea, cart.grams).run();
  return new Response('Thank you');
}
`,
};
/** Requests a minute to each route, and their usual time to first byte and CPU in ms. */
const routes = [
  { route: '/', each: 34, firstByteMs: 4, cpuMs: 1.2 },
  { route: '/teas', each: 22, firstByteMs: 9, cpuMs: 2.4 },
  { route: '/cart', each: 11, firstByteMs: 14, cpuMs: 3.1 },
  { route: '/checkout', each: 3, firstByteMs: 48, cpuMs: 6.5 },
] as const;

/** Its project and its live deployment. */
export interface PicturedShop {
  readonly project: string;
  readonly live: string;
}

/** Makes it. Takes about ten seconds. */
export async function makePicturedShop({ platform, organization, dataFolder }: SharedDashboard): Promise<PicturedShop> {
  const project = 'tea-shop';
  const { id: projectId } = await platform.call('POST', '/projects', {
    name: project,
    organizationId: organization.id,
  });
  const folder = path.join(platform.folder, project);
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  };
  for (const [file, text] of Object.entries(files)) write(file, text);
  const git = (...words: string[]) => platform.git(folder, ...words);
  const push = async (branch: string, subject: string): Promise<string> => {
    write('NEWS', subject);
    await git('add', '-A');
    await git('commit', '-qm', subject);
    await git('push', '-q', `http://git:${platform.token}@127.0.0.1:${platform.ports.api}/git/${project}.git`, branch);
    return (await platform.call('GET', `/deployments?projectId=${projectId}&limit=1`)).items[0].id;
  };
  await git('init', '-q', '-b', 'main');
  const first = await push('main', 'Sell tea by the bag');
  const before = await push('main', 'Send an email for each order');
  await git('switch', '-qc', 'gift-cards');
  const preview = await push('gift-cards', 'Accept gift cards');
  await git('switch', '-q', 'main');
  const live = await push('main', 'Ship to Iceland');
  const host = `${project}.localhost`;
  for (const at of ['/', '/advice', '/advice', '/checkout']) await send(platform.ports.handler, host, at);
  const ask = (what: string): Promise<Json> => platform.call('GET', `/projects/${projectId}/${what}`);
  await eventually('The requests', async () => (await ask('analytics')).totals.requests === 4, API_PAUSE_MS);
  await eventually('The AI calls', async () => (await ask('ai/usage')).totals.calls === 2, API_PAUSE_MS);
  await eventually(
    'The failure',
    async () => (await ask('invocations?outcome=failed')).items.length === 1,
    API_PAUSE_MS,
  );
  const sql = openSql({
    url: findEmbeddedPostgres(path.join(dataFolder, 'postgres'))!.url,
    name: 'test',
    connectionsMax: 1,
  });
  try {
    for (const [deployment, hours] of [
      [first, 75],
      [before, 27],
      [preview, 3],
      [live, 0.6],
    ] as const)
      await moveBack(sql, deployment, hours);
    const now = Date.now();
    await sql.begin((tx) =>
      addUsage(
        tx,
        lastHour(project, now, (ago) => (ago > 36 ? before : live)),
      ),
    );
  } finally {
    await sql.end();
  }
  return { project, live };
}

/** Moves a deployment into the past. */
async function moveBack(sql: Sql, deployment: string, hours: number): Promise<void> {
  const by = `${hours} hours`;
  await sql`
    UPDATE control.deployment SET created_at = created_at - ${by}::interval, updated_at = updated_at - ${by}::interval,
      ready_at = ready_at - ${by}::interval WHERE id = ${deployment}`;
  await sql`UPDATE control.build_log SET at = at - ${by}::interval WHERE deployment_id = ${deployment}`;
}

/** Usage by minute. @param deploymentAt the deployment that served so many minutes ago */
function lastHour(project: string, now: number, deploymentAt: (minutesAgo: number) => string): TimedUsageRow[] {
  const rows: TimedUsageRow[] = [];
  for (let ago = 59; ago > 0; ago--)
    for (const [index, { route, each, firstByteMs, cpuMs }] of routes.entries()) {
      const at = now - ago * MINUTE_MS;
      const wave = 1 + 0.35 * Math.sin(ago / 9) + 0.12 * Math.sin(ago * 2.7 + index);
      const invocations = Math.round(each * wave);
      const [moved, missing] = [Math.round(invocations * 0.06), Math.round(invocations * 0.04)];
      const failed = route === '/checkout' && ago % 23 === 4 ? 1 : 0;
      const latency = latencies(invocations, firstByteMs * (1 + 0.3 * Math.sin(ago / 5)));
      rows.push(
        usageRow(project, {
          deployment: deploymentAt(ago),
          route,
          hour: startOf(at, HOUR_MS),
          minute: startOf(at, MINUTE_MS),
          invocations,
          failures: failed,
          statuses: [invocations - moved - missing - failed, moved, missing, failed, 0],
          cpuMs: invocations * cpuMs,
          cpuMsMax: cpuMs * (1.6 + 0.5 * Math.sin(ago * 1.3 + index)),
          firstByte: latency,
          answer: latency,
        }),
      );
    }
  return rows;
}

/** A histogram of durations from half to five times the usual one. */
function latencies(count: number, usualMs: number): SparseCounts {
  const counted = new Uint32Array(latencyScale.buckets);
  for (let index = 0; index < count; index++)
    counted[bucketOf(latencyScale, usualMs * (0.5 + (index / count) ** 4 * 4.5))]!++;
  return toSparse(counted);
}

function startOf(at: number, ms: number): string {
  return new Date(Math.floor(at / ms) * ms).toISOString();
}
