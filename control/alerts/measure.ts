// Measures the value of a rule: the error rate of a project, its latency, its CPU use and AI cost relative to their
// budgets, and its certificates; for operator rules, the disk and all certificates. Called by evaluate.ts.
import { statfs } from 'node:fs/promises';
import type { HostCertificate } from '#core/edge-state.ts';
import type { CpuLimits } from '#core/limits.ts';
import { invocationKinds, type Plan } from '#core/plans.ts';
import { counterKey } from '#gateway/accounts/room.ts';
import { windowOf } from '#gateway/accounts/window.ts';
import { checkCertificates } from '#operations/doctor/installation.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { readLatencies, type Rows } from '../records/latency.ts';
import { budgetsOf } from '../records/usage.ts';

/** Kinds of rules, for projects and for the operator. */
export const projectRuleKinds = ['error_rate', 'latency', 'cpu_budget', 'ai_budget', 'certificate'] as const;
export const operatorRuleKinds = ['disk', 'certificate'] as const;
export type RuleKind = (typeof projectRuleKinds)[number] | (typeof operatorRuleKinds)[number];

/** The columns of a rule that measuring needs. */
export interface Measured {
  /** Null means an operator rule. */
  readonly project_id: string | null;
  readonly kind: RuleKind;
  readonly threshold: number;
  readonly window_seconds: number;
}

/** The result of a measurement; a null value means no data. */
export interface Measurement {
  readonly value: number | null;
  /** One sentence. */
  readonly message: string;
}

/** If there are fewer invocations, no rate or latency is computed. */
export const MEASURED_MIN = 10;
const DAY_MS = 86_400_000;
const NAMED_MAX = 5;
const MICROS = 1_000_000;

type MeasureDeps = Pick<Dependencies, 'cpuLimits' | 'folder' | 'edgeState'>;

/** @param tx has a statement timeout. */
export async function measure(deps: MeasureDeps, tx: Transaction | Sql, rule: Measured): Promise<Measurement> {
  const { kind, project_id: projectId, threshold, window_seconds: seconds } = rule;
  if (kind === 'disk') return measureDisk(deps);
  if (projectId === null) return measureAllCertificates(deps, threshold);
  if (kind === 'certificate') return measureCertificates(deps, tx, projectId, threshold);
  if (kind === 'ai_budget') return measureAiBudget(tx, projectId);
  if (kind === 'error_rate') return measureFailures(tx, projectId, seconds);
  return kind === 'latency' ? measureLatency(tx, projectId, seconds) : measureCpu(deps, tx, projectId, seconds);
}

/** Rows of a project by minute, of all minutes that the window touches. */
const within = (tx: Transaction | Sql, projectId: string, seconds: number) =>
  tx`FROM control.usage_minute WHERE project_id = ${projectId}
    AND minute >= date_trunc('minute', now() - ${seconds} * interval '1 second') AND kind = ANY(${[...invocationKinds]})`;

async function measureFailures(tx: Transaction | Sql, projectId: string, seconds: number): Promise<Measurement> {
  const [row] = await tx<{ count: number; failed: number }[]>`
    SELECT coalesce(sum(invocations), 0)::bigint AS count, coalesce(sum(failures), 0)::bigint AS failed
    ${within(tx, projectId, seconds)}`;
  const { count, failed } = row!;
  const words = `${failed} of ${count} invocations failed in ${seconds / 60} min`;
  if (count < MEASURED_MIN) return { value: null, message: `${words}: too few to calculate a rate` };
  const value = (100 * failed) / count;
  return { value, message: `${words}: ${rounded(value)} %` };
}

async function measureLatency(tx: Transaction | Sql, projectId: string, seconds: number): Promise<Measurement> {
  // The queries only use the template function, which transactions have as well.
  const sql = tx as Sql;
  const rows: Rows = sql`SELECT *, NULL::bigint AS series, NULL::bigint AS part ${within(sql, projectId, seconds)} AND kind = 'http'`;
  const [{ count }] = await sql<[{ count: number }]>`
    SELECT coalesce(sum(count), 0)::bigint AS count FROM (${rows}) AS used, unnest(first_byte_counts) AS count`;
  const { firstByteMs } = (await readLatencies(sql, rows)).total;
  if (firstByteMs === null || count < MEASURED_MIN)
    return { value: null, message: `${count} requests in ${seconds / 60} min: too few for a latency` };
  const { p50, p99 } = firstByteMs;
  return {
    value: p99,
    message: `Time to first byte in ${seconds / 60} min: p99 ${rounded(p99)} ms, p50 ${rounded(p50)} ms`,
  };
}

async function measureCpu(
  { cpuLimits }: MeasureDeps,
  tx: Transaction | Sql,
  projectId: string,
  seconds: number,
): Promise<Measurement> {
  const budgets = await budgetsOfProject(tx, cpuLimits, projectId);
  const [row] = await tx<{ kind: string; route: string; cpu_ms: number; budget: number }[]>`
    SELECT kind, route, cpu_ms, budget FROM (
      SELECT kind, route, cpu_ms_max AS cpu_ms, (${tx.json(budgets)}::jsonb->>kind)::float AS budget
      ${within(tx, projectId, seconds)}) AS measured
    WHERE budget > 0 ORDER BY cpu_ms / budget DESC LIMIT 1`;
  if (row === undefined) return { value: null, message: `No invocations with a budget in ${seconds / 60} min` };
  const { kind, route, cpu_ms: used, budget } = row;
  const value = (100 * used) / budget;
  return {
    value,
    message: `${kind} ${route} used ${rounded(used)} of ${budget} ms of CPU: ${rounded(value)} % of its budget`,
  };
}

/** CPU milliseconds per invocation by kind in the plan of a project; empty if it was deleted. */
export async function budgetsOfProject(
  tx: Transaction | Sql,
  cpuLimits: CpuLimits,
  projectId: string,
): Promise<Readonly<Record<string, number>>> {
  const [of] = await tx<{ plan: Plan }[]>`
    SELECT plan FROM control.organization JOIN control.project ON organization_id = organization.id
    WHERE project.id = ${projectId}`;
  return of === undefined ? {} : budgetsOf(cpuLimits, of.plan);
}

/** Uses the counter by which the AI gateway enforces the budget. */
async function measureAiBudget(tx: Transaction | Sql, projectId: string): Promise<Measurement> {
  const key = counterKey({ scope: 'project', of: 'cost', per: 'month' }, projectId);
  const { startsAt } = windowOf('month', Date.now());
  const [row] = await tx<{ budget: number; micros: number }[]>`
    SELECT (set->>'most')::float8 AS budget, coalesce(counter.used, 0)::float8 AS micros
    FROM control.ai_settings CROSS JOIN jsonb_array_elements(limits) AS set
    LEFT JOIN control.ai_counter AS counter ON counter.key = ${key} AND counter.starts_at = ${new Date(startsAt)}
    WHERE project_id = ${projectId} AND set->>'of' = 'cost' AND set->>'per' = 'month'`;
  if (row === undefined) return { value: null, message: 'The project has no monthly budget for AI' };
  const { budget, micros } = row;
  const spent = micros / MICROS;
  // A budget of 0 is used up.
  const value = budget === 0 ? 100 : (100 * spent) / budget;
  const cents = Math.round(100 * spent) / 100;
  return { value, message: `AI calls cost ${cents} of ${budget} this month: ${rounded(value)} % of the budget` };
}

async function measureCertificates(
  deps: MeasureDeps,
  tx: Transaction | Sql,
  projectId: string,
  days: number,
): Promise<Measurement> {
  const rows = await tx<{ hostname: string }[]>`
    SELECT hostname FROM control.domain WHERE project_id = ${projectId} AND verified_at IS NOT NULL ORDER BY hostname`;
  const known = deps.edgeState()?.certificates ?? {};
  return counted(rows.flatMap(({ hostname }) => certificateProblem(hostname, known[hostname], days) ?? []));
}

function measureAllCertificates({ edgeState, folder }: MeasureDeps, days: number): Measurement {
  const own = checkCertificates(process.env, folder, Date.now()).filter(({ status }) => status === 'fail');
  const hosts = Object.entries(edgeState()?.certificates ?? {});
  return counted([
    ...own.map(({ message }) => message),
    ...hosts.flatMap(([host, certificate]) => certificateProblem(host, certificate, days) ?? []),
  ]);
}

function certificateProblem(host: string, certificate: HostCertificate | undefined, days: number): string | null {
  if (certificate === undefined) return null;
  if (certificate.expiresAt === null)
    return certificate.problem === null ? null : `${host} has no certificate: ${certificate.problem}`;
  const left = (Date.parse(certificate.expiresAt) - Date.now()) / DAY_MS;
  if (left < 0) return `The certificate of ${host} has expired`;
  if (certificate.problem !== null) return `The certificate of ${host} is not renewed: ${certificate.problem}`;
  return left < days ? `The certificate of ${host} expires in ${Math.floor(left)} days` : null;
}

/** The value is the number of problems, and a single problem exceeds the threshold. */
function counted(problems: readonly string[]): Measurement {
  if (problems.length === 0) return { value: 0, message: 'All certificates are valid' };
  const more = problems.length > NAMED_MAX ? `; and ${problems.length - NAMED_MAX} more` : '';
  return { value: problems.length, message: `${problems.slice(0, NAMED_MAX).join('; ')}${more}` };
}

async function measureDisk({ folder }: MeasureDeps): Promise<Measurement> {
  const { bavail, blocks, bsize } = await statfs(folder);
  const value = 100 * (1 - bavail / blocks);
  return {
    value,
    message: `${rounded(value)} % of the disk is used: ${rounded((bavail * bsize) / 1024 ** 3)} GB are free`,
  };
}

const rounded = (value: number): string => String(Math.round(value * 10) / 10);
