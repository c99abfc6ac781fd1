// Forwards sandbox calls to the sandbox service (core/sandbox/operations.ts), for the routes of sandboxes.ts. Bodies
// stream in both directions; a client that disconnects aborts the call. Errors of the service are thrown with their
// code; successful responses are not parsed here.
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import {
  ARGUMENTS_HEADER,
  type AgentOperation,
  type PortOperation,
  type SandboxPlace,
  type ServiceOperation,
} from '#core/sandbox/operations.ts';
import { OPTIONS_CHARS_MAX, OPTIONS_HEADER, toOptionsChange } from '#core/sandbox/options.ts';
import { REFUSAL_BYTES_MAX, refusalIn } from '#core/sandbox/refusal.ts';

/** Connection to the service. */
export interface SandboxService {
  /**
   * @param headers names and values, alternating.
   * @throws {PlatformError} `sandbox_unavailable`, or another code if it is unknown whether the call was executed.
   */
  request(request: {
    readonly method: 'GET' | 'POST' | 'DELETE';
    readonly path: string;
    readonly headers: readonly string[];
    readonly body: Uint8Array | string | Readable | null;
    readonly signal: AbortSignal | null;
  }): Promise<{ readonly statusCode: number; readonly body: Readable }>;
}

/** Pagination by id. */
interface SandboxPage {
  readonly limit: number;
  readonly prefix: string;
  readonly cursor: string;
}

/** Requests to the sandboxes of a binding. */
export type SandboxRequest =
  | { readonly operation: 'list'; readonly args: SandboxPage }
  | { readonly operation: 'listSnapshots'; readonly args: SandboxPage }
  | {
      readonly operation: AgentOperation | ServiceOperation | PortOperation;
      readonly sandbox: string;
      readonly args?: object;
      /** Options of the sandbox as the user wrote them (core/sandbox/options.ts). */
      readonly options?: object | undefined;
      /** Body of operations that take bytes. */
      readonly bytes?: AsyncIterable<Uint8Array>;
    };

/** Maximum size of the service's own responses. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Calls the service and returns the response body.
 *
 * @param service null if sandboxes are not available.
 * @throws {PlatformError} `binding_unavailable` without a service; `sandbox_lost` if the call may have been executed
 *   in part; the service's own errors.
 */
export async function callSandbox(
  service: SandboxService | null,
  { project, resource }: Omit<SandboxPlace, 'id'>,
  asked: SandboxRequest,
  signal: AbortSignal,
): Promise<Readable> {
  if (service === null)
    throw new PlatformError('binding_unavailable', {
      kind: 'sandbox',
      reason: 'no sandbox service is configured: set SANDBOX_URL and SANDBOX_AUTH_TOKEN',
    });
  const base = `/v1/projects/${encodeURIComponent(project)}/sandboxes/${encodeURIComponent(resource)}`;
  const { statusCode, body } = await service.request({ ...toRequest(base, asked), signal }).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code === 'sandbox_unavailable') throw error;
    throw new PlatformError(
      'sandbox_lost',
      { reason: 'the connection to the sandbox service was lost' },
      { cause: error },
    );
  });
  // An aborted body emits an error, possibly after its last listener has been removed.
  body.on('error', () => {});
  if (statusCode === 200) return body;
  throw await refusalOf(statusCode, body);
}

function toRequest(base: string, asked: SandboxRequest) {
  if (asked.operation === 'list' || asked.operation === 'listSnapshots') {
    const { limit, prefix, cursor } = asked.args;
    const search = new URLSearchParams({ limit: String(limit), prefix, cursor });
    if (asked.operation === 'listSnapshots') search.set('snapshots', '1');
    return { method: 'GET', path: `${base}?${search}`, headers: [], body: null } as const;
  }
  const { operation, sandbox, args = {}, options, bytes } = asked;
  const path = `${base}/${encodeURIComponent(sandbox)}/${operation}`;
  if (bytes === undefined) {
    const headers = ['content-type', 'application/json'];
    if (options !== undefined) headers.push(OPTIONS_HEADER, toOptionsHeader(options));
    return { method: 'POST', path, headers, body: JSON.stringify(args) } as const;
  }
  const given = encodeURIComponent(JSON.stringify(args));
  if (given.length > SANDBOX_LIMITS.headerArgumentsCharsMax)
    throw new PlatformError('invalid_argument', {
      reason: `The path has ${given.length} encoded characters, the limit is ${SANDBOX_LIMITS.headerArgumentsCharsMax}`,
    });
  return {
    method: 'POST',
    path,
    headers: [ARGUMENTS_HEADER, given],
    body: Readable.from(bytes, { objectMode: false }),
  } as const;
}

function toOptionsHeader(options: object): string {
  const said = encodeURIComponent(JSON.stringify(toOptionsChange(options)));
  if (said.length <= OPTIONS_CHARS_MAX) return said;
  throw new PlatformError('invalid_argument', {
    reason: `The options of the sandbox have ${said.length} characters, the limit is ${OPTIONS_CHARS_MAX}`,
  });
}

async function refusalOf(status: number, body: Readable): Promise<PlatformError> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > REFUSAL_BYTES_MAX) break;
      chunks.push(chunk);
    }
    const refusal = refusalIn(Buffer.concat(chunks).toString());
    // A wrong service token is the platform's fault, not the caller's: do not forward that code.
    if (refusal !== null && refusal.code !== 'sandbox_unauthorized') return refusal;
  } catch {
    // The body was cut off, so only the status is known.
  }
  return new PlatformError('sandbox_unavailable', { reason: `the sandbox service answered ${status}` });
}

/** Parses a response of the service itself, which is short. Responses of agents may have any size. */
export async function toJson(answer: Readable): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`The sandbox service answers more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
}
