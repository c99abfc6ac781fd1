// Visits to exposed ports: proxies a visitor's request to the server in the sandbox, with back-pressure both ways,
// while the sandbox is held. Limited per project and in time.
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { PlatformError } from '#core/errors.ts';
import { toFields, toPortRequest, type Fields } from '#core/sandbox/arguments.ts';
import { isExposedName, type PortVisit } from '#core/sandbox/exposed-port.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { ARGUMENTS_HEADER, RESPONSE_HEADER } from '#core/sandbox/operations.ts';
import { refusalOf } from './agent-refusal.ts';
import { askAgent } from './agent-request.ts';
import type { ExposedPorts, OwnedPort } from './exposed-ports.ts';
import { admit, type Admission, answerHead, requestHeaders, writtenHead } from './port-heads.ts';
import type { Call, CallPlacement } from './call.ts';
import type { Sandboxes } from './held-sandboxes.ts';

/** Dependencies. */
interface PortVisitsDeps {
  readonly exposed: ExposedPorts;
  readonly sandboxes: Sandboxes;
  readonly placement: CallPlacement;
  /** Maximum concurrent visits per project. */
  readonly visitsMax: number;
  readonly idleMs: number;
}

export interface PortVisits {
  /** Handles `POST /v1/ports/{name}`. */
  request(name: string, call: Call): Promise<void>;
  /** Runs an authorized handshake to `/v1/ports/{name}` with `tunnel`, within the limit of concurrent visits. */
  upgrade(
    name: string,
    request: IncomingMessage,
    tunnel: (found: OwnedPort, visit: PortVisit) => Promise<void>,
  ): Promise<void>;
}

export function createPortVisits(deps: PortVisitsDeps): PortVisits {
  const { exposed, sandboxes, placement, visitsMax, idleMs } = deps;
  /** Visits in progress, by project. */
  const visits = new Map<string, number>();

  async function forward(found: OwnedPort, visit: PortVisit, { request, response, gone }: Call): Promise<void> {
    const { port } = found;
    const held = await sandboxes.holdKey(found.place, found.key);
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(), idleMs);
    async function* watched(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        timer.refresh();
        yield chunk;
      }
    }
    try {
      if (gone.aborted) return;
      if (request.headers.expect !== undefined) response.writeContinue();
      const args = encodeURIComponent(JSON.stringify({ ...visit, headers: requestHeaders(visit, port), port }));
      if (args.length > SANDBOX_LIMITS.headerArgumentsCharsMax)
        throw new PlatformError('headers_too_large', { limit: SANDBOX_LIMITS.headerArgumentsCharsMax });
      const answer = await askAgent(await held.connect(), {
        operation: 'fetch',
        args,
        // Keeps the connection open if the response arrives before the request was sent completely.
        body: watched(request.iterator({ destroyOnReturn: false })),
        signal: AbortSignal.any([gone, idle.signal]),
      });
      if (answer.statusCode !== 200) throw await refusalOf(answer);
      const head = answerHead(headerOf(answer), visit.origin, port);
      response.writeHead(200, { 'content-type': 'application/octet-stream', ...writtenHead(head) });
      response.flushHeaders();
      timer.refresh();
      await pipeline(answer, watched, response);
    } catch (error) {
      if (!idle.signal.aborted) throw error;
      throw new PlatformError('port_unreachable', { port, reason: `nothing came within ${idleMs} ms` });
    } finally {
      clearTimeout(timer);
      held.release();
    }
  }

  /** @throws {PlatformError} `sandbox_port_unknown`, `sandbox_port_locked` */
  async function admitted(name: string, visit: PortVisit): Promise<{ found: OwnedPort; admission: Admission }> {
    const found = isExposedName(name) ? await exposed.rows.find(name) : null;
    if (found === null) throw new PlatformError('sandbox_port_unknown');
    return { found, admission: admit(visit, found.isPublic ? null : (given) => exposed.isToken(name, given)) };
  }

  async function counted(project: string, work: () => Promise<void>): Promise<void> {
    const running = visits.get(project) ?? 0;
    if (running >= visitsMax)
      throw new PlatformError('sandbox_limit', {
        what: 'Another open request to exposed ports of this project',
        limit: visitsMax,
      });
    visits.set(project, running + 1);
    try {
      await work();
    } finally {
      const left = visits.get(project)! - 1;
      if (left > 0) visits.set(project, left);
      else visits.delete(project);
    }
  }

  return {
    async request(name, call) {
      const { found, admission } = await admitted(name, visitIn(call.request));
      if (admission.is === 'sent on') call.response.writeHead(200, writtenHead(admission.head)).end();
      else await counted(found.place.project, () => placement(call, () => forward(found, admission.visit, call)));
    },
    async upgrade(name, request, tunnel) {
      const visit = visitIn(request);
      // The request is not for a page, so there is no redirect.
      const headers = visit.headers.filter(([header]) => header !== 'accept');
      const { found, admission } = await admitted(name, { ...visit, headers });
      if (admission.is === 'passed') await counted(found.place.project, () => tunnel(found, admission.visit));
    },
  };
}

/** Parses a visit from its header. @throws {PlatformError} `invalid_argument` */
function visitIn({ headers }: IncomingMessage): PortVisit {
  let fields: Fields;
  try {
    fields = toFields(JSON.parse(decodeURIComponent(String(headers[ARGUMENTS_HEADER] ?? ''))));
  } catch {
    throw new PlatformError('invalid_argument', { reason: `The header ${ARGUMENTS_HEADER} is not valid` });
  }
  const { origin } = fields;
  if (typeof origin !== 'string' || !/^https?:\/\/[a-z0-9.:-]{1,300}$/.test(origin))
    throw new PlatformError('invalid_argument', { reason: 'The origin is not valid' });
  const { method, path, headers: pairs, bodyBytes } = toPortRequest({ ...fields, port: 1 });
  return { origin, method, path, headers: pairs.map(([name, value]) => [name.toLowerCase(), value]), bodyBytes };
}

function headerOf({ headers }: IncomingMessage): string | undefined {
  const value = headers[RESPONSE_HEADER];
  return typeof value === 'string' ? value : undefined;
}
