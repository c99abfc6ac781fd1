// The host half of sandboxes: requests to the sandbox service for a sandbox of the deployment's own project and
// resource, which the host sets and the worker cannot forge. The service validates requests; this file only forwards
// them.
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { isSandboxId } from '#core/sandbox/sandbox-id.ts';
import { ARGUMENTS_HEADER } from '#core/sandbox/operations.ts';
import { OPTIONS_CHARS_MAX, OPTIONS_HEADER } from '#core/sandbox/options.ts';
import { PassThrough, type Readable } from 'node:stream';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import { invalid, toRecord } from './arguments.ts';
import { onceRead, reply, signalOf } from './fetched-response.ts';
import type { OpenFetches } from './open-fetches.ts';
import type { SandboxTransport } from './sandbox-transport.ts';
import type { BindingScope } from './scope.ts';
import { receiveBody } from './streamed-body.ts';

/** Access to the sandbox service. */
export interface SandboxAccess {
  readonly transport: SandboxTransport;
  readonly places: OpenFetches;
}

const OPERATION = /^[A-Za-z]{1,32}$/;

/** The calls of one deployment's sandboxes (arguments: core/bindings/sandbox.ts). */
export function createSandboxCalls(scope: BindingScope, access: SandboxAccess): Readonly<Record<string, HostFunction>> {
  return {
    'sandbox.call'(call) {
      const { stream } = toRecord(call.args);
      // The stream is opened before the first await, because its first chunk may come in the same records.
      const body = typeof stream === 'number' ? receiveBody(call, stream) : (call.parts[0] ?? null);
      const answer = run(scope, access, call, body);
      // The stream is cancelled if the request failed before its body was read.
      if (body instanceof PassThrough) answer.catch(() => body.destroy());
      return answer;
    },
  };
}

async function run(
  scope: BindingScope,
  { transport, places }: SandboxAccess,
  call: HostCall,
  body: Uint8Array | string | Readable | null,
): Promise<HostReply> {
  const { binding, method, url, headers } = toRecord(call.args);
  if (method !== 'GET' && method !== 'POST') throw invalid('The method must be GET or POST');
  const target = typeof url === 'string' ? URL.parse(url) : null;
  if (target === null || typeof headers !== 'string') throw invalid('The request to the sandbox service is not valid');
  const resource = scope.resource(binding);
  const { span, owner } = call;
  owner.countSubrequest();
  const base = `/v1/projects/${encodeURIComponent(scope.namespace)}/sandboxes/${encodeURIComponent(resource)}`;
  const [id = '', operation = ''] = target.pathname.slice(1).split('/');
  let path = `${base}${target.search}`;
  if (method === 'POST') {
    if (!isSandboxId(id) || !OPERATION.test(operation))
      throw invalid('The request to the sandbox service is not valid');
    span?.set('sandbox.operation', operation);
    path = `${base}/${id}/${operation}`;
  }
  const list = headersOf(headers);
  const leave = places.take(call.isolate);
  const response = await transport
    // A command that continues without a reader would cost memory and time.
    .request({ method, path, headers: list, body, signal: signalOf(call) })
    .catch((error: unknown) => {
      leave();
      throw error;
    });
  onceRead(response, leave);
  return reply(call, response, target, false);
}

const passed: Readonly<Record<string, { readonly what: string; readonly charsMax: number }>> = {
  [ARGUMENTS_HEADER]: {
    what: 'The path, the headers and other arguments',
    charsMax: SANDBOX_LIMITS.headerArgumentsCharsMax,
  },
  [OPTIONS_HEADER]: { what: 'The options of the sandbox', charsMax: OPTIONS_CHARS_MAX },
};

/** Keeps only the headers of a worker that carry arguments and options. */
function headersOf(block: string): string[] {
  const fields = block.split('\0');
  const kept: string[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = [fields[at]!, fields[at + 1]!];
    if (!Object.hasOwn(passed, name)) continue;
    const { what, charsMax } = passed[name]!;
    if (value.length > charsMax) throw invalid(`${what} have ${value.length} characters, and may have ${charsMax}`);
    kept.push(name, value);
  }
  return kept;
}
