// The host half of the AI binding: requests to the gateway on behalf of the deployment, which the host identifies and
// the worker cannot forge. Bodies are created and read inside the isolate, and only pass through this file, as with
// fetch.
import type { AiCaller } from '#core/ai-caller.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { AiTransport } from './ai-transport.ts';
import { invalid, toRecord } from './arguments.ts';
import { onceRead, reply, signalOf } from './fetched-response.ts';
import type { OpenFetches } from './open-fetches.ts';
import { withTrace } from './trace-headers.ts';

/** The workflow of the agent library: AI requests of its runs are counted as those of an agent. */
const AGENT_WORKFLOW = 'platform_agent_run';
/** Headers that a worker may set; the host sets all others. */
const ALLOWED_HEADERS = /^(?:accept|content-type|user-agent|idempotency-key|traceparent|tracestate)$/;
const GATEWAY_HEADERS = /^x-platform-(?:cache-ttl|timeout-ms|fallbacks)$/;
const OTHER_HEADERS = /^x-(?!platform-|forwarded-)[a-z0-9-]{1,64}$/;

/** Dependencies. */
interface AiDeps {
  readonly transport: AiTransport;
  readonly places: OpenFetches;
  /** The deployment. */
  readonly caller: Omit<AiCaller, 'kind' | 'runId'>;
  /** Token of the deployment; null if it has none. */
  readonly token: string | null;
}

/** The handlers of one deployment's AI binding. Arguments: `{model, method, url, headers}`, the body as a part. */
export function createAiCalls(deps: AiDeps): Readonly<Record<string, HostFunction>> {
  return { 'ai.fetch': (call) => run(deps, call) };
}

async function run({ transport, places, caller, token }: AiDeps, call: HostCall): Promise<HostReply> {
  const { model, method, url, headers } = toRecord(call.args);
  if (method !== 'GET' && method !== 'POST') throw invalid('The method must be GET or POST');
  const target = typeof url === 'string' ? URL.parse(url) : null;
  if (target === null || typeof headers !== 'string') throw invalid('The request to the AI gateway is not valid');
  const { span, owner } = call;
  span?.set('http.request.method', method);
  if (typeof model === 'string') span?.set('gen_ai.request.model', model);
  owner.countSubrequest();
  const list = toList(headers);
  const leave = places.take(call.isolate);
  const agentRun = owner.run();
  const isAgent = agentRun?.workflow === AGENT_WORKFLOW;
  const response = await transport
    .request({
      method,
      path: `/ai${target.pathname}`,
      headers: withTrace(list, owner.trace, span?.id),
      body: call.parts[0] ?? null,
      caller: { ...caller, kind: isAgent ? 'agent' : 'worker', runId: isAgent ? agentRun.id : null },
      token,
      // A call that continued without a reader would cost money.
      signal: signalOf(call),
    })
    .catch((error: unknown) => {
      leave();
      throw error;
    });
  onceRead(response, leave);
  span?.set('http.response.status_code', response.statusCode);
  return reply(call, response, target, false);
}

/** @throws {PlatformError} `invalid_argument` for a header that a worker may not set. */
function toList(block: string): string[] {
  const list: string[] = [];
  const fields = block.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at]!;
    if (!ALLOWED_HEADERS.test(name) && !GATEWAY_HEADERS.test(name) && !OTHER_HEADERS.test(name))
      throw invalid(`extraHeaders may not have ${name.slice(0, 64)}`);
    list.push(name, fields[at + 1]!);
  }
  return list;
}
