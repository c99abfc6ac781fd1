// Passes a call for a sandbox on to the sandbox service (core/sandbox/operations.ts), for whoever mounts the routes of
// sandboxes.ts: bodies stream both ways, who hangs up ends the call. What the service refuses becomes an error with its
// code; what it answers is not read here.
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { SANDBOX_BOUNDS } from '#core/sandbox/call-limits.ts';
import {
  ARGUMENTS_HEADER,
  type AgentOperation,
  type PortOperation,
  type SandboxPlace,
  type ServiceOperation,
} from '#core/sandbox/operations.ts';
import { OPTIONS_CHARS_MAX, OPTIONS_HEADER, toOptionsChange } from '#core/sandbox/options.ts';
import { REFUSAL_BYTES_MAX, refusalIn } from '#core/sandbox/refusal.ts';

/** The way to the service. */
export interface SandboxService {
  /**
   * @param headers names and values, in turn.
   * @throws {PlatformError} `sandbox_unavailable`, or another one where it is not known whether the call was done.
   */
  request(request: {
    readonly method: 'GET' | 'POST' | 'DELETE';
    readonly path: string;
    readonly headers: readonly string[];
    readonly body: Uint8Array | string | Readable | null;
    readonly signal: AbortSignal | null;
  }): Promise<{ readonly statusCode: number; readonly body: Readable }>;
}

/** A part of a list, by id. */
interface SandboxPage {
  readonly limit: number;
  readonly prefix: string;
  readonly cursor: string;
}

/** What is asked of the sandboxes of a binding. */
export type SandboxRequest =
  | { readonly operation: 'list'; readonly args: SandboxPage }
  | { readonly operation: 'listSnapshots'; readonly args: SandboxPage }
  | {
      readonly operation: AgentOperation | ServiceOperation | PortOperation;
      readonly sandbox: string;
      readonly args?: object;
      /** What it is to be made of, as somebody wrote it (core/sandbox/options.ts). */
      readonly options?: object | undefined;
      /** Of an operation whose body is bytes. */
      readonly bytes?: AsyncIterable<Uint8Array>;
    };

/** Of what the service itself says. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Asks, and returns the body of the answer.
 *
 * @param service null: there is none.
 * @throws {PlatformError} `binding_unavailable` without a service; `sandbox_lost` where the call may have been done in
 *   part; what the service refuses with.
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
      reason: 'no sandbox service is set (SANDBOX_URL with SANDBOX_AUTH_TOKEN)',
    });
  const base = `/v1/projects/${encodeURIComponent(project)}/sandboxes/${encodeURIComponent(resource)}`;
  const { statusCode, body } = await service.request({ ...toRequest(base, asked), signal }).catch((error: unknown) => {
    if (error instanceof PlatformError && error.code === 'sandbox_unavailable') throw error;
    throw new PlatformError(
      'sandbox_lost',
      { reason: 'the connection to the sandbox service broke' },
      { cause: error },
    );
  });
  // One that is given up says so as an error, which nobody may be listening for by then.
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
  if (given.length > SANDBOX_BOUNDS.headerArgumentsCharsMax)
    throw new PlatformError('invalid_argument', {
      reason: `The path has ${given.length} characters as it is sent, and may have ${SANDBOX_BOUNDS.headerArgumentsCharsMax}`,
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
    reason: `The options of a sandbox have ${said.length} characters, and may have ${OPTIONS_CHARS_MAX}`,
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
    // Its token is ours to have right, not the caller's.
    if (refusal !== null && refusal.code !== 'sandbox_unauthorized') return refusal;
  } catch {
    // Cut off: its status is all that is known.
  }
  return new PlatformError('sandbox_unavailable', { reason: `the sandbox service answered ${status}` });
}

/** An answer of the service itself, which is short; those of agents may be of any size. */
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
