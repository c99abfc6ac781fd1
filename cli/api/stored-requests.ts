// Requests and events of a project that have ended, as a control plane has stored them: those that were, and those that
// come, for `platform logs --requests`.
import { setTimeout as pause } from 'node:timers/promises';
import type { Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import { allOf, ask, type Query } from './requests.ts';

const AGAIN_MS = 1000;
/** Engines tell of what has ended in batches: one may be stored behind another that ended after it. */
const LATE_MS = 10_000;
const ATTEMPTS_MAX = 20;

/** As `GET /projects/{id}/invocations` has it; milliseconds. */
export interface StoredRequest {
  readonly id: string;
  readonly at: string;
  /** `http`, or what else called the worker. */
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** `ok`, or the code that it failed with. */
  readonly outcome: string;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly deploymentId: string;
  readonly traceId: string | null;
}

/** The last ones, the oldest first. @param filters of `GET /projects/{id}/invocations`. */
export async function readStoredRequests(
  api: Api,
  project: string,
  filters: Query,
  count: number,
): Promise<StoredRequest[]> {
  const found = await allOf<StoredRequest>(api, pathOf(project), { ...filters, limit: Math.min(count, 100) }, count);
  return found.toReversed();
}

/** Those that end from now on, until the signal. @param known what was shown already. */
export async function* followStoredRequests(
  api: Api,
  project: string,
  filters: Query,
  known: readonly StoredRequest[],
  signal: AbortSignal,
): AsyncGenerator<StoredRequest> {
  let seen = new Set(known.map(({ id }) => id));
  let newest = known.length === 0 ? Date.now() : Math.max(...known.map(({ at }) => Date.parse(at)));
  for (let attempt = 0; !signal.aborted && attempt < ATTEMPTS_MAX; attempt++) {
    await pause(AGAIN_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      const query = { ...filters, from: new Date(newest - LATE_MS).toISOString(), limit: 100 };
      const found = (await ask<{ items: StoredRequest[] }>(api, 'GET', pathOf(project), { query })).items;
      attempt = -1;
      for (const request of found.toReversed()) {
        newest = Math.max(newest, Date.parse(request.at));
        if (!seen.has(request.id)) yield request;
      }
      seen = new Set([...found.map(({ id }) => id), ...[...seen].slice(-1000)]);
    } catch (error) {
      if (error instanceof CliError && error.code !== null && error.code !== 'unavailable') throw error;
    }
  }
}

function pathOf(project: string): string {
  return `/projects/${encodeURIComponent(project)}/invocations`;
}
