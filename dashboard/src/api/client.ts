// The API by its types. Pages ask it through queries (queries/), actions through `dataOf(api.post(...))`; nothing else
// of the dashboard calls fetch.
import type { ControlApi } from '#control/api/app.ts';
import { createClient } from '#packages/worker/client.ts';
import { isGatewayStatus, noteAnswered, noteAway } from './connection.ts';
import { ApiFailure, failureOf } from './failure.ts';
import { noteSignedIn, noteSignedOut } from './session.ts';
import { mode } from '../mode.ts';

/** Where both APIs lie, of the same origin as the page. */
const BASE = '/api';

/** Calls routes by their types. Give what it answers to {@link dataOf}. */
export const api = createClient<ControlApi>(BASE, { fetch: send });

/** Sends a request of this origin. @throws {ApiFailure} when nobody answers. */
export async function send(request: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    noteAway();
    throw new ApiFailure(0, 'unreachable', 'The platform does not answer', null);
  }
  if (response.status === 401 && mode === 'production') noteSignedOut();
  else if (response.ok) noteSignedIn();
  if (isGatewayStatus(response.status) && !(response.headers.get('content-type') ?? '').includes('json')) noteAway();
  else noteAnswered();
  return response;
}

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly data: unknown;
  readonly response: Response;
}

/**
 * What a call answered.
 *
 * @throws {ApiFailure} for every status but those of success.
 * @example const deployment = await dataOf(api.get('/deployments/:id', { params: { id }, signal }));
 */
export async function dataOf<Result extends Answer>(
  call: Promise<Result>,
): Promise<Extract<Result, { readonly ok: true }>['data']> {
  const result = await call;
  if (!result.ok) throw failureOf(result.status, result.data, result.response);
  return result.data as Extract<Result, { readonly ok: true }>['data'];
}

/**
 * Calls a route that is not in the types: those of `platform dev`. The path begins behind `/api`.
 *
 * @throws {ApiFailure}
 */
export async function ask<Value>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
): Promise<Value> {
  const response = await send(
    new Request(`${BASE}${path}`, {
      method,
      headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    }),
  );
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  const value: unknown = text === '' || !isJson ? undefined : JSON.parse(text);
  if (!response.ok) throw failureOf(response.status, value, response);
  return value as Value;
}
