// Every expression of the Grafana dashboard, asked of Debian's Prometheus, which reads a platform that has served:
// engines, the processes beside them, Postgres, Caddy.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '#test/setup/free-port.ts';
import { until } from '#test/setup/until.ts';
import { startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

const program = ['/usr/bin/prometheus', '/usr/local/bin/prometheus'].find((file) => existsSync(file));
// CI installs it: there it is a failure that it is missing.
const skip =
  program === undefined && process.env['CI'] === undefined
    ? 'Prometheus is not installed: apt-get install prometheus'
    : false;

const worker = `export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === '/throw') throw new Error('no');
    await env.DB.prepare('SELECT 1').all();
    await env.MAIL.send({ to: 'ada' });
    return new Response('hello');
  },
  async message() {},
};`;

interface Target {
  readonly expr: string;
}
const dashboard = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../containers/grafana/platform.json'), 'utf8'),
) as { readonly panels: readonly { readonly title: string; readonly targets?: readonly Target[] }[] };
const expressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
);

let platform: WholePlatform;
let prometheus: ChildProcess;
let origin: string;

before(
  async () => {
    if (skip !== false) return;
    assert.ok(program !== undefined, 'Prometheus is not installed: apt-get install prometheus');
    const [http, https] = [await freePort(), await freePort()];
    platform = await startWholePlatform({
      PUBLIC_HTTPS: 'on',
      EDGE_HTTP_PORT: String(http),
      EDGE_HTTPS_PORT: String(https),
    });
    const folder = path.join(platform.folder, 'shop');
    mkdirSync(path.join(folder, 'src'), { recursive: true });
    writeFileSync(path.join(folder, 'platform.yaml'), 'kind: worker\nqueue: { MAIL: mail }\ndb: { DB: guests }\n');
    writeFileSync(path.join(folder, 'package.json'), '{"name":"shop","type":"module"}');
    writeFileSync(path.join(folder, 'src/index.js'), worker);
    await platform.cli(folder, 'deploy');
    const home = path.join(platform.folder, 'home/local');
    const { privateOrigin, token } = JSON.parse(readFileSync(path.join(home, readdirSync(home)[0]!), 'utf8')) as Json;
    const target = new URL(privateOrigin as string).host;
    const scrape = (name: string, at: string): string => `
  - job_name: ${name}
    metrics_path: ${at}
    authorization: { credentials: ${token} }
    static_configs: [{ targets: ['${target}'] }]`;
    const config = path.join(platform.folder, 'prometheus.yml');
    writeFileSync(
      config,
      `global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:${scrape('platform', '/metrics')}${scrape('caddy', '/metrics/edge')}\n`,
    );
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    prometheus = spawn(
      program,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${path.join(platform.folder, 'prometheus')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    for (let round = 0; round < 20; round++) {
      await visit(platform.ports.handler, '/');
      await visit(http, '/');
    }
    await visit(platform.ports.handler, '/throw');
    await visit(platform.ports.handler, '/', 'nobody.localhost');
  },
  { timeout: 200_000 },
);
after(async () => {
  if (prometheus?.exitCode === null) {
    prometheus.kill('SIGTERM');
    await once(prometheus, 'exit');
  }
  await platform?.close();
});

function visit(port: number, at: string, host = 'shop.localhost'): Promise<void> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: at, headers: { host } }, (response) => {
      response.resume().on('end', resolve);
    })
      .on('error', reject)
      .end();
  });
}

async function ask(at: string): Promise<Json> {
  const answer = await fetch(`${origin}/api/v1/${at}`);
  return answer.json();
}

/** Names of metrics in an expression: words before `{`, `[`, `)` or an operator that are no functions or labels. */
function metricsOf(expression: string): string[] {
  return [...expression.matchAll(/\b(?:platform|caddy)_[a-z_]+\b/g)].map(([name]) => name);
}

/** What is wrong with an expression; null: nothing. */
async function problemOf(expression: string): Promise<string | null> {
  const { data: known } = await ask('label/__name__/values');
  const names = metricsOf(expression);
  if (names.length === 0) return 'names no metric';
  for (const name of names) if (!known.includes(name)) return `${name} is no metric of the platform`;
  const { status, error, data } = await ask(`query?query=${encodeURIComponent(expression)}`);
  if (status !== 'success') return error;
  return data.result.length === 0 ? 'has no value' : null;
}

test('each expression has a value, over metrics that there are', { skip, timeout: 120_000 }, async () => {
  assert.ok(expressions.length > 40);
  // Rates need two readings of what changed, the slowest source is read every fifteen seconds.
  const problems = new Map<string, string | null>();
  let round = 0;
  await until(async () => {
    await visit(platform.ports.handler, round++ % 2 === 0 ? '/' : '/throw');
    for (const { expr } of expressions) if (problems.get(expr) !== null) problems.set(expr, await problemOf(expr));
    return [...problems.values()].every((problem) => problem === null) || round > 200;
  });
  const found = expressions
    .map(({ title, expr }) => [title, expr, problems.get(expr)])
    .filter(([, , problem]) => problem !== null);
  assert.deepEqual(found, []);
});

test(
  'both sources are read without an error, and every process beside the engines tells of itself',
  { skip },
  async () => {
    const { data } = await ask('targets?state=active');
    assert.deepEqual(
      data.activeTargets.map(({ health, lastError }: Json) => [health, lastError]),
      [
        ['up', ''],
        ['up', ''],
      ],
    );
    const { data: told } = await ask('query?query=platform_service_event_loop_utilization');
    const services = told.result.map(({ metric }: Json) => metric.service).toSorted();
    for (const name of ['api', 'broker', 'databases', 'edge', 'postgres', 'supervisor', 'web'])
      assert.ok(services.includes(name), `${name} is missing in ${services.join(', ')}`);
  },
);

test('an expression over a metric that there is not is found', { skip }, async () => {
  assert.equal(
    await problemOf('rate(platform_nothing_total[1m])'),
    'platform_nothing_total is no metric of the platform',
  );
  assert.equal(await problemOf('platform_service_up{service="nobody"}'), 'has no value');
});
