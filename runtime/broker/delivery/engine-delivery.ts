// Delivers events to engines over the private port (`POST /_platform/deliver`), which selects the engine. Used by
// main.ts.
import { createHash } from 'node:crypto';
import type { Agent } from 'undici';
import { encodeEvent, EVENT_HEADERS, EVENT_TYPE, traceHeaders } from '#core/event-codec.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import type { HandlerAddresses } from '#core/process/handler-addresses.ts';
import type { EventEnd } from './delivery.ts';

/** Access to the private ports. */
interface PrivateAddress {
  readonly token: string;
  /** Concurrent deliveries. */
  readonly connectionsMax: number;
}

/** Error codes of an unreachable server. */
const UNREACHED = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|UND_ERR_CONNECT_TIMEOUT)$/;

/** Implements `WorkDeps.deliver`. */
export function createEngineDelivery(
  { token, connectionsMax }: PrivateAddress,
  handlers: HandlerAddresses,
): {
  deliver(
    deployment: string,
    kind: EventKind,
    event: EventContent,
    signal: AbortSignal,
    project: string,
  ): Promise<EventEnd>;
  close(): Promise<void>;
} {
  // The library is loaded with the first event.
  let library: Promise<typeof import('undici')> | null = null;
  let agent: Agent | null = null;
  const open = async (): Promise<{ agent: Agent; request: typeof import('undici').request }> => {
    const undici = await (library ??= import('undici'));
    // There are no timeouts, because the engine limits the duration of an event.
    agent ??= new undici.Agent({
      connections: connectionsMax,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 4000,
    });
    return { agent, request: undici.request };
  };
  const headers = {
    'content-type': EVENT_TYPE,
    authorization: `Bearer ${token}`,
  };
  return {
    async deliver(deployment, kind, event, signal, project) {
      const { agent: dispatcher, request } = await open();
      let answer: { status: number; body: Record<string, unknown> } | null = null;
      for (const origin of byAffinity(await handlers.find(), `${project}/${deployment}`)) {
        try {
          const response = await request(`${origin}/_platform/deliver`, {
            dispatcher,
            method: 'POST',
            headers: {
              ...headers,
              [EVENT_HEADERS.deployment]: deployment,
              [EVENT_HEADERS.project]: project,
              [EVENT_HEADERS.kind]: kind,
              ...traceHeaders(event),
            },
            body: encodeEvent(event),
            signal,
          });
          answer = { status: response.statusCode, body: (await response.body.json()) as Record<string, unknown> };
        } catch (error) {
          // No engine received the event, so another handler may get it.
          if (UNREACHED.test((error as NodeJS.ErrnoException).code ?? '')) continue;
          throw error;
        }
        if (answer.status !== 503 || answer.body['code'] !== 'no_engine') break;
      }
      if (answer === null) return { code: 'no_engine', reason: 'no engine reachable', result: null };
      const { status, body } = answer;
      if (status === 200 && body['outcome'] === 'ok')
        return { code: null, reason: '', result: JSON.stringify(body['result'] ?? null) };
      const code = String(status === 200 ? body['outcome'] : (body['code'] ?? 'internal'));
      const reason = String(body['error'] ?? code);
      if (code === 'engine_lost') throw new Error(reason);
      return { code, reason, result: null };
    },
    async close() {
      await agent?.destroy();
    },
  };
}

/**
 * Sorts the handlers for a deployment: always the same handler first, which keeps the isolate warm; the others are used
 * if it is unavailable.
 */
function byAffinity(origins: readonly string[], key: string): readonly string[] {
  if (origins.length < 2) return origins;
  const weight = (origin: string): string => createHash('sha256').update(`${key} ${origin}`).digest('hex');
  return origins
    .map((origin) => [weight(origin), origin] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, origin]) => origin);
}
