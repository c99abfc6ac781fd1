// The host half of `fetch`: undici with the egress policy on every connection and every redirect, streaming both ways.
// Everything in `args` comes from a worker and is checked here.
import { isIP, type LookupFunction } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { mayConnect, type EgressPolicy } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import type { HostCall, HostFunction, HostReply } from '../bridge/host-calls.ts';
import { pathOnGateway, type AiAddress } from './ai-transport.ts';
import type { EgressMeter } from './egress-meter.ts';
import { loadFetchLibrary } from './fetch-agent.ts';
import { onceRead, reply, requestOf, signalOf } from './fetched-response.ts';
import type { OpenFetches } from './open-fetches.ts';
import type { PlatformHosts } from './platform-hosts.ts';
import { checkRedirect, redirected, redirectTarget, SECRET_HEADERS, without } from './redirects.ts';
import { receiveBody } from './streamed-body.ts';
import { withTrace } from './trace-headers.ts';

interface FetchArguments {
  method: string;
  url: string;
  headers: string;
  redirect: 'follow' | 'manual' | 'error';
  stream: number | null;
}

/** Dependencies of `fetch`. */
interface FetchDeps {
  readonly policy: EgressPolicy;
  /** Resolves host names for an isolate. */
  readonly lookupOf: (isolate: object) => LookupFunction;
  readonly meter: EgressMeter;
  readonly places: OpenFetches;
  readonly ai: AiAddress;
  readonly platformHosts: PlatformHosts | null;
}

/** The handlers of `fetch` under a policy. `close` closes its connections. */
export function createFetch(deps: FetchDeps): {
  calls: Readonly<Record<string, HostFunction>>;
  close(): Promise<void>;
} {
  const { lookupOf, meter } = deps;
  /**
   * Each isolate has its own agent. Connections are not shared, so data on one connection can never become the response
   * to another isolate's request.
   */
  const agents = new Map<object, Agent>();
  let library: Promise<(lookup: LookupFunction) => Agent> | null = null;
  const load = (): Promise<(lookup: LookupFunction) => Agent> =>
    (library ??= loadFetchLibrary().then((undici) => (lookup: LookupFunction) => {
      const open = undici.buildConnector({ lookup, allowH2: false });
      const connector: typeof open = (options, callback) =>
        open(options, (...result) => {
          // A failed connection passes only an error.
          if (result[1]) meter.add(result[1]);
          callback(...result);
        });
      return new undici.Agent({ connect: connector, allowH2: false, bodyTimeout: 0, headersTimeout: 0 });
    }));
  const agentOf = async (isolate: object): Promise<Agent> => {
    const create = await load();
    let agent = agents.get(isolate);
    if (agent === undefined) {
      const made = (agent = create(lookupOf(isolate)));
      const forgetIdle = (): void => {
        if (Object.keys(made.stats).length === 0 && agents.get(isolate) === made) agents.delete(isolate);
      };
      agents.set(isolate, made.on('disconnect', forgetIdle).on('connectionError', forgetIdle));
    }
    return agent;
  };
  return {
    calls: {
      fetch(call) {
        const target = parseFetch(call.args);
        // The stream is opened before the first await, because its first chunk may come in the same records.
        const body = target.stream === null ? (call.parts[0] ?? null) : receiveBody(call, target.stream);
        const answer = run(agentOf(call.isolate), deps, call, target, body);
        // The stream is cancelled if the request failed before its body was read.
        if (body instanceof PassThrough) answer.catch(() => body.destroy());
        return answer;
      },
    },
    async close() {
      await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
    },
  };
}

async function run(
  connecting: Promise<Agent>,
  { policy, places, ai, platformHosts }: FetchDeps,
  call: HostCall,
  { method, url, headers, redirect }: FetchArguments,
  body: Uint8Array | string | Readable | null,
): Promise<HostReply> {
  let target = new URL(url);
  let verb = method;
  const { span } = call;
  span?.set('http.request.method', method.toUpperCase());
  // The URL without path and query, which may contain secrets.
  span?.set('server.address', target.host);
  let list = withTrace(toHeaderList(headers), call.owner.trace, span?.id);
  const agent = await connecting;
  for (let redirects = 0; ; redirects++) {
    call.owner.countSubrequest();
    const path = pathOnGateway(target, ai);
    const isInside = path === null && platformHosts?.has(target) === true;
    if (path === null && !isInside) check(target, policy);
    const leave = places.take(call.isolate);
    const { signal } = call;
    const sent = { headers: list, body, signal };
    const asked =
      path !== null
        ? ai.transport.request({ ...sent, method: verb, path, caller: null, token: null, signal: signalOf(call) })
        : isInside
          ? platformHosts!.fetch(target, {
              ...sent,
              method: verb,
              signal: signalOf(call),
              received: (name) => call.owner.header(name),
            })
          : requestOf(agent, placeOf(target, verb), sent, target.host);
    const response = await asked.catch((error: unknown) => {
      leave();
      throw error;
    });
    onceRead(response, leave);
    span?.set('http.response.status_code', response.statusCode);
    const location = redirect === 'manual' ? null : redirectTarget(response, target);
    if (location === null) return reply(call, response, target, redirects > 0);
    response.body.destroy();
    checkRedirect(location, redirect, redirects);
    ({ verb, body, list } = redirected(response.statusCode, { verb, body, list }));
    if (location.origin !== target.origin) list = without(list, SECRET_HEADERS);
    target = location;
  }
}

export function parseFetch(args: unknown): FetchArguments {
  const { method, url, headers, redirect, stream } = (args ?? {}) as Record<string, unknown>;
  if (typeof method !== 'string' || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/.test(method))
    throw new PlatformError('invalid_argument', { reason: 'The method is not valid' });
  if (/^(?:connect|trace|track)$/i.test(method))
    throw new PlatformError('invalid_argument', { reason: `'${method}' HTTP method is unsupported.` });
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new PlatformError('invalid_argument', { reason: 'The URL is not valid' });
  if (typeof headers !== 'string') throw new PlatformError('invalid_argument', { reason: 'The headers are not valid' });
  if (redirect !== 'follow' && redirect !== 'manual' && redirect !== 'error')
    throw new PlatformError('invalid_argument', { reason: 'The redirect mode is not valid' });
  if (stream !== null && !Number.isSafeInteger(stream))
    throw new PlatformError('invalid_argument', { reason: 'The body is not valid' });
  return { method, url, headers, redirect, stream: stream as number | null };
}

// Headers of framing or the connection, which only the host may set.
export const FORBIDDEN =
  /^(?:connection|keep-alive|proxy-connection|transfer-encoding|te|trailer|upgrade|content-length|expect)$/;

export function toHeaderList(block: string): string[] {
  const list: string[] = [];
  const fields = block.split('\0');
  let hasEncoding = false;
  let hasAgent = false;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string;
    if (FORBIDDEN.test(name)) continue;
    if (name === 'accept-encoding') hasEncoding = true;
    if (name === 'user-agent') hasAgent = true;
    list.push(name, fields[at + 1] as string);
  }
  if (!hasEncoding) list.push('accept-encoding', 'gzip, deflate, br');
  if (!hasAgent) list.push('user-agent', 'platform');
  return list;
}

/** @throws {PlatformError} for an unsupported protocol, or a literal address that the policy forbids. */
export function check(target: URL, policy: EgressPolicy): void {
  if (target.protocol !== 'http:' && target.protocol !== 'https:')
    throw new PlatformError('fetch_failed', { reason: `Protocol "${target.protocol}" is not supported by fetch` });
  const host = target.hostname.startsWith('[') ? target.hostname.slice(1, -1) : target.hostname;
  if (isIP(host) !== 0 && !mayConnect(host, policy))
    throw new PlatformError('egress_forbidden', { address: target.hostname });
}

function placeOf(target: URL, method: string): Pick<Dispatcher.RequestOptions, 'origin' | 'path' | 'method'> {
  return { origin: target.origin, path: target.pathname + target.search, method: method as Dispatcher.HttpMethod };
}
