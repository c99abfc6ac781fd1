// Hands events to engines over the private port (`POST /_platform/deliver`), which picks the engine. Used by main.ts.
import { Agent, request } from 'undici';
import { encodeEvent, EVENT_HEADERS, EVENT_TYPE } from '#core/event-codec.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import type { EventEnd } from './delivery.ts';

/** Where the private port is. */
interface PrivateAddress {
  readonly origin: string;
  readonly token: string;
  /** Events on their way at a time. */
  readonly connectionsMax: number;
}

/** A function for `WorkParts.deliver`. */
export function createEngineDelivery({ origin, token, connectionsMax }: PrivateAddress): {
  deliver(
    deployment: string,
    kind: EventKind,
    event: EventContent,
    signal: AbortSignal,
    project: string,
  ): Promise<EventEnd>;
  close(): Promise<void>;
} {
  // An event may take as long as it takes: its limits are the engine's.
  const agent = new Agent({ connections: connectionsMax, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 4000 });
  const headers = {
    'content-type': EVENT_TYPE,
    authorization: `Bearer ${token}`,
  };
  return {
    async deliver(deployment, kind, event, signal, project) {
      let answer: { status: number; body: Record<string, unknown> };
      try {
        const response = await request(`${origin}/_platform/deliver`, {
          dispatcher: agent,
          method: 'POST',
          headers: {
            ...headers,
            [EVENT_HEADERS.deployment]: deployment,
            [EVENT_HEADERS.project]: project,
            [EVENT_HEADERS.kind]: kind,
          },
          body: encodeEvent(event),
          signal,
        });
        answer = { status: response.statusCode, body: (await response.body.json()) as Record<string, unknown> };
      } catch (error) {
        // No engine took it.
        if (/^(?:ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT)$/.test((error as NodeJS.ErrnoException).code ?? ''))
          return { code: 'no_engine', reason: 'no engine reachable', result: null };
        throw error;
      }
      const { status, body } = answer;
      if (status === 200 && body['outcome'] === 'ok')
        return { code: null, reason: '', result: JSON.stringify(body['result'] ?? null) };
      const code = String(status === 200 ? body['outcome'] : (body['code'] ?? 'internal'));
      const reason = String(body['error'] ?? code);
      if (code === 'engine_lost') throw new Error(reason);
      return { code, reason, result: null };
    },
    close: () => agent.destroy(),
  };
}
