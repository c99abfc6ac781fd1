// The tenants of crowd.bench.ts: their kinds, their order by popularity, and the requests that wrk sends to them.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundleWorker, type Bundle } from './deployments.ts';

/** Kinds of tenants, in turn: a tenant is called `<kind>-<number>`, and lower numbers are asked more. */
export const kinds = {
  hello: { worker: 'hello', target: '/' },
  hono: { worker: 'hono-zod', target: '/orders/7' },
  page: { worker: 'crowd-page', target: '/?title=Shop' },
  site: { worker: 'crowd-site', target: '/', files: 'out: crowd-site\nassets: { binding: ASSETS }\n' },
  events: { worker: 'crowd-events', target: '/' },
} as const;

type Kind = keyof typeof kinds;
const names = Object.keys(kinds) as Kind[];

/** Weight of the tenant at a place: the share of requests by Zipf with this exponent. */
const ZIPF = 1.1;

/** The workers of a crowd, as each side gets them. */
export interface Crowd {
  readonly ours: Readonly<Record<Kind, Bundle>>;
  /** Without static files: the worker answers with the text of the page. */
  readonly workerd: Readonly<Record<Kind, Bundle>>;
}

export async function bundleCrowd(): Promise<Crowd> {
  const bundles: Partial<Record<Kind, Bundle>> = {};
  for (const name of names) {
    const kind: { readonly worker: string; readonly files?: string } = kinds[name];
    bundles[name] = await bundleWorker(kind.worker, kind.files);
  }
  const ours = bundles as Record<Kind, Bundle>;
  const page = readFileSync(path.join(import.meta.dirname, 'workers/crowd-site/index.html'), 'utf8');
  const code = `globalThis.PAGE = ${JSON.stringify(page)};\n${ours.site.code}`;
  return { ours, workerd: { ...ours, site: { ...ours.site, code } } };
}

/** `hello-0`, `hono-1`, ..., the most popular first. */
export function tenantsOf(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${names[at % names.length]!}-${at}`);
}

export function kindOf(tenant: string): Kind {
  return tenant.slice(0, tenant.indexOf('-')) as Kind;
}

/** Path and query of a tenant's request. */
export function targetOf(tenant: string): string {
  return kinds[kindOf(tenant)].target;
}

/** The share of requests of each kind, in the order of {@link kinds}. */
export function shares(tenants: readonly string[]): [Kind, number][] {
  const weights = tenants.map((_, at) => (at + 1) ** -ZIPF);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return names.map((name) => [
    name,
    weights.reduce((sum, weight, at) => sum + (kindOf(tenants[at]!) === name ? weight : 0), 0) / all,
  ]);
}

/** Writes a script for wrk that picks a tenant for each request; the same order for each server. */
export function writeCrowdScript(file: string, tenants: readonly string[]): void {
  const list = tenants.map((tenant) => `{"${tenant}.localhost", "${targetOf(tenant)}"}`);
  writeFileSync(
    file,
    `local tenants = {${list.join(', ')}}
local requests, limits, sum = {}, {}, 0
function init()
  for at, tenant in ipairs(tenants) do
    sum = sum + at ^ -${ZIPF}
    limits[at] = sum
    requests[at] = wrk.format("GET", tenant[2], {Host = tenant[1]})
  end
  math.randomseed(1)
end
function request()
  local wanted, low, high = math.random() * sum, 1, #limits
  while low < high do
    local middle = math.floor((low + high) / 2)
    if limits[middle] < wanted then low = middle + 1 else high = middle end
  end
  return requests[low]
end
`,
  );
}
