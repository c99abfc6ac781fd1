// Follows a deployment until it ends, with its log.
import type { Api } from '../account/api.ts';
import { showElapsed } from '../terminal/elapsed.ts';
import { CliError } from '../terminal/failure.ts';
import { plain } from '../terminal/plain.ts';
import { coloured, continued } from '../terminal/printed.ts';
import type { Shell, Style } from '../terminal/shell.ts';
import { isEnded, statusText } from './deployment-text.ts';
import { eventsOf } from './events.ts';
import type { BuildLine, Deployment } from './records.ts';
import { ask } from './requests.ts';

const LOOK_MS = 120;
const LOOK_MS_MAX = 2000;
/** How long the API may be unreachable, for example while it or Postgres restarts. */
const SILENT_MS_MAX = 60_000;

const styles: Readonly<Record<string, Style>> = { error: 'red', warn: 'yellow', debug: 'dim' };

/** Callbacks. */
interface Following {
  /** Called for each line; null if the log is not read. */
  readonly onLine: ((line: BuildLine) => void) | null;
  readonly signal?: AbortSignal;
}

/**
 * Resolves with the finished deployment.
 *
 * @throws {CliError} if the API is unreachable for a minute.
 */
export async function followDeployment(
  shell: Shell,
  api: Api,
  id: string,
  { onLine, signal }: Following,
): Promise<Deployment> {
  const ended = new AbortController();
  const stop = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
  const log = onLine === null ? Promise.resolve() : followLog(api, id, onLine, stop);
  let status = 'queued';
  const stopShowing = showElapsed(shell, () => status);
  try {
    const deployment = await untilEnded(api, id, signal, (found) => (status = statusText(found)));
    // The last lines of the log may arrive after the end, so wait a moment for them.
    await Promise.race([log, new Promise((resolve) => setTimeout(resolve, LOOK_MS_MAX).unref())]);
    return deployment;
  } finally {
    ended.abort();
    stopShowing();
    await log;
  }
}

async function untilEnded(
  api: Api,
  id: string,
  signal: AbortSignal | undefined,
  onStatus: (deployment: Deployment) => void,
): Promise<Deployment> {
  let silentSince: number | null = null;
  for (let pause = LOOK_MS; ; pause = Math.min(pause * 1.2, LOOK_MS_MAX)) {
    try {
      const deployment = await ask<Deployment>(api, 'GET', `/deployments/${id}`);
      silentSince = null;
      if (isEnded(deployment.status) || signal?.aborted === true) return deployment;
      onStatus(deployment);
    } catch (error) {
      const isAway =
        error instanceof CliError && (error.code === null || error.code === 'unavailable' || error.code === 'internal');
      silentSince ??= performance.now();
      if (!isAway || performance.now() - silentSince > SILENT_MS_MAX) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Follows the log to its end; resumes after a broken connection. */
async function followLog(api: Api, id: string, onLine: (line: BuildLine) => void, signal: AbortSignal): Promise<void> {
  let after = 0;
  for (let attempt = 0; !signal.aborted && attempt < 20; attempt++) {
    try {
      for await (const { name, text } of eventsOf(api, `/deployments/${id}/logs`, { after, follow: true }, signal)) {
        if (name === 'end' || name === 'done') return;
        const line = lineOf(text);
        if (line === null || line.seq <= after) continue;
        after = line.seq;
        attempt = 0;
        onLine(line);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CliError && error.code !== null && error.code !== 'unavailable') return;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function lineOf(text: string): BuildLine | null {
  try {
    const line = JSON.parse(text) as BuildLine;
    return Number.isInteger(line.seq) && typeof line.text === 'string' ? line : null;
  } catch {
    return null;
  }
}

/** @example '03:39:12 build   npm run build' */
export function formatBuildLine(shell: Shell, { at, step, level, text }: BuildLine): string {
  const time = String(at).slice(11, 19);
  const said = coloured(text.replace(/\n$/, ''), shell.isTerminal);
  const style = styles[level];
  return `${shell.paint('dim', `${time} ${plain(step).padEnd(8)}`)} ${style === undefined ? said : shell.paint(style, said)}`;
}

/** The error of an unsuccessful deployment, else null. */
export function failureOfDeployment(deployment: Deployment): CliError | null {
  const { id, status, reason, errorMessage } = deployment;
  if (status === 'success') return null;
  const said = errorMessage ?? (reason === null ? null : reason.replaceAll('_', ' '));
  const why = said === null ? '' : `: ${continued(plain(said))}`;
  return new CliError(
    `Deployment ${id} ${status === 'canceled' ? 'was canceled' : status === 'timeout' ? 'timed out' : 'failed'}${why}`,
    {
      code: reason,
      advice: `\`platform deployments logs ${id}\` shows its log. The previous deployment keeps serving.`,
    },
  );
}
