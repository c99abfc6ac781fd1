// Stored requests and events of a control plane, past and live, for `platform logs --requests`.
import { setTimeout as pause } from 'node:timers/promises';
import type { Api } from '../account/api.ts';
import { CliError } from '../terminal/failure.ts';
import { allOf, ask, type Query } from './requests.ts';

const AGAIN_MS = 1000;
/** Engines report requests in batches, so a request may be stored after another request that ended later. */
const LATE_MS = 10_000;
const ATTEMPTS_MAX = 20;

/** An item of `GET /projects/{id}/invocations`. Times in milliseconds. */
export interface StoredRequest {
  readonly id: string;
  readonly at: string;
  /** `http` or the kind of event. */
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** `ok` or an error code. */
  readonly outcome: string;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly deploymentId: string;
  readonly traceId: string | null;
}

/** The last requests, oldest first. @param filters of `GET /projects/{id}/invocations`. */
export async function readStoredRequests(
  api: Api,
  project: string,
  filters: Query,
  count: number,
): Promise<StoredRequest[]> {
  const found = await allOf<StoredRequest>(api, pathOf(project), { ...filters, limit: Math.min(count, 100) }, count);
  return found.toReversed();
}

/** Follows finished requests until the signal. @param known requests that are already shown. */
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
