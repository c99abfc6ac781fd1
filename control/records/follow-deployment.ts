// Follows a deployment: its log lines in order, each once, and its status until it ends. Woken by NOTIFY, with polling
// as a fallback. Used by the log routes and by `git push`.
import type { Sql } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';

/** A line of a build log. */
interface LogLine {
  readonly seq: number;
  readonly at: Date;
  readonly step: string;
  readonly level: string;
  readonly text: string;
}

/** State of a deployment. */
interface DeploymentState {
  readonly status: string;
  readonly reason: string | null;
  readonly errorMessage: string | null;
}

/** An event of a followed deployment. */
type DeploymentNews =
  | { readonly kind: 'lines'; readonly lines: readonly LogLine[] }
  | { readonly kind: 'state'; readonly state: DeploymentState };

const LOOK_MS = 1000;
const LINES_MAX = 500;
const OPEN: ReadonlySet<string> = new Set(['queued', 'building', 'uploading', 'migrating']);

/** Whether a status is not final. */
function isOpen(status: string): boolean {
  return OPEN.has(status);
}

/** Wakes followers of deployments; one per process. */
export interface DeploymentSignals {
  /** Resolves at the next notification about a deployment, after a second, or when the signal aborts. */
  next(deploymentId: string, signal: AbortSignal): Promise<void>;
}

/** Listens to `control_log` and `control_deployment`. */
export async function openDeploymentSignals({ onNotify }: Pick<Dependencies, 'onNotify'>): Promise<DeploymentSignals> {
  const waiting = new Map<string, Set<() => void>>();
  const listener = (id: string): void => {
    for (const wake of waiting.get(id) ?? []) wake();
  };
  await onNotify('control_log', listener);
  await onNotify('control_deployment', listener);
  return {
    next: (id, signal) =>
      new Promise((resolve) => {
        const wakes = waiting.get(id) ?? new Set();
        waiting.set(id, wakes);
        const wake = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          wakes.delete(wake);
          if (wakes.size === 0) waiting.delete(id);
          resolve();
        };
        const timer = setTimeout(wake, LOOK_MS);
        signal.addEventListener('abort', wake);
        wakes.add(wake);
        if (signal.aborted) wake();
      }),
  };
}

/**
 * Follows a deployment until it ends or the signal aborts.
 *
 * @param after number of the last known line; 0 starts with the first.
 */
export async function* followDeployment(
  { sql, signals }: { readonly sql: Sql; readonly signals: DeploymentSignals },
  id: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<DeploymentNews> {
  let known = '';
  for (let seq = after; !signal.aborted;) {
    // Registered before reading, so that no notification is missed.
    const next = signals.next(id, signal);
    const [row] = await sql<{ status: string; reason: string | null; error_message: string | null }[]>`
      SELECT status, reason, error_message FROM control.deployment WHERE id = ${id}`;
    const lines = await sql<LogLine[]>`
      SELECT seq, at, step, level, text FROM control.build_log
      WHERE deployment_id = ${id} AND seq > ${seq} ORDER BY seq LIMIT ${LINES_MAX}`;
    if (lines.length > 0) {
      seq = lines.at(-1)!.seq;
      yield { kind: 'lines', lines };
    }
    if (row === undefined) return;
    const state = { status: row.status, reason: row.reason, errorMessage: row.error_message };
    const text = JSON.stringify(state);
    // Yield all remaining lines before the end.
    if (lines.length === LINES_MAX) continue;
    if (text !== known) {
      known = text;
      yield { kind: 'state', state };
    }
    if (!isOpen(row.status)) return;
    await next;
  }
}
