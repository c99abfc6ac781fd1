// Typed API client. Pages read through queries (queries/) and write through `dataOf(api.post(...))`; no other file of
// the dashboard calls fetch.
import type { ControlApi } from '#control/api/app.ts';
import { createClient } from '#packages/worker/client.ts';
import { isGatewayStatus, noteAnswered, noteAway } from './connection.ts';
import { ApiFailure, failureOf } from './failure.ts';
import { noteSignedIn, noteSignedOut } from './session.ts';
import { mode } from '../state/mode.ts';

/** Base path of both APIs, on the origin of the page. */
const BASE = '/api';

/** Calls routes by their types. Pass the result to {@link dataOf}. */
export const api = createClient<ControlApi>(BASE, { fetch: send });

/** Sends a request to this origin. @throws {ApiFailure} if there is no response. */
export async function send(request: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    noteAway();
    throw new ApiFailure(0, 'unreachable', 'The platform is not responding', null);
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
 * The data of a successful response.
 *
 * @throws {ApiFailure} for any other status than 2xx.
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
 * Calls an untyped route of `platform dev`. The path follows `/api`.
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
