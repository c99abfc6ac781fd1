// `POST /_platform/deliver` on the private port: passes one event (queue message, timer, cron run, workflow step) to
// an engine and returns its response. This route does not parse events, and never delivers an event twice: another
// engine is tried only if the first one was not reached.
import type { Agent, IncomingMessage, ServerResponse } from 'node:http';
import { encodeEvent, EVENT_HEADERS, EVENT_TYPE, traceHeaders, tracesOf } from '#core/event-codec.ts';
import { eventKinds, isEventKind } from '#core/event.ts';
import { errorMessage, errorTable, PlatformError, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { Failure } from '#core/failure.ts';
import { askEngine, createEngineConnections, type EngineAnswer } from '../engines/engine-calls.ts';
import { readBody, readJsonBody } from './json-body.ts';
import type { DeploymentKey, EngineState, SupervisorState } from '../engines/state.ts';

/** Dependencies of deliveries. */
export interface DeliveryDeps {
  readonly state: () => Pick<SupervisorState, 'engines' | 'quarantine'>;
  /** Numbers of serving engines, in the order to try for a deployment. */
  readonly homes: (deployment: DeploymentKey, places: readonly number[]) => readonly number[];
  /** Called when there is an event for a quarantined deployment without an engine. */
  readonly want?: (deployment: DeploymentKey) => void;
  /** Wall time limit of an event in its engine. */
  readonly eventWallMs: number;
  readonly bodyBytesMax: number;
  /** Concurrent deliveries. */
  readonly deliveriesMax: number;
}

/** Response to send. */
interface DeliveryAnswer {
  readonly kind: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** Time to start an isolate and to send the response, besides the wall time of the event. */
const MARGIN_MS = 60_000;
/** Results of handlers are small, except perhaps a workflow's output. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** Creates the delivery function; it never rejects: failures are in the response. */
export function createDelivery(
  deps: DeliveryDeps,
): (request: IncomingMessage, response: ServerResponse) => Promise<DeliveryAnswer> {
  const connections = createEngineConnections();
  let running = 0;
  return async (request, response) => {
    if (running >= deps.deliveriesMax) return refusal('none', 'deliveries_overloaded', { limit: deps.deliveriesMax });
    running++;
    let kind = 'none';
    try {
      // If the client disconnects, the engine's call is ended too.
      const gone = new AbortController();
      response.once('close', () => {
        if (!response.writableFinished) gone.abort();
      });
      const { body, envelope } = await readEnvelope(request, deps.bodyBytesMax);
      kind = envelope.kind;
      const answer = await send(envelope, body, deps, gone.signal, connections);
      return { kind, status: answer.status, contentType: answer.contentType || 'application/json', body: answer.body };
    } catch (error) {
      if (error instanceof PlatformError) return refusal(kind, error.code, error.details);
      return refusal(kind, 'internal', {});
    } finally {
      running--;
    }
  };
}

async function send(
  envelope: Envelope,
  body: Buffer,
  deps: DeliveryDeps,
  signal: AbortSignal,
  connections: Agent,
): Promise<EngineAnswer> {
  const timeoutMs = deps.eventWallMs + MARGIN_MS;
  for (const { socketPath } of candidates(envelope, deps)) {
    try {
      return await askEngine({
        socketPath,
        path: '/_platform/deliver',
        body,
        headers: {
          'content-type': EVENT_TYPE,
          [EVENT_HEADERS.deployment]: envelope.deployment,
          [EVENT_HEADERS.kind]: envelope.kind,
          ...traceHeaders(envelope),
        },
        timeoutMs,
        bytesMax: ANSWER_BYTES_MAX,
        signal,
        connections,
      });
    } catch (error) {
      if ((error as Failure<'engine_call'>).reason !== 'unreached' || signal.aborted)
        throw new PlatformError('engine_lost', {}, { cause: error });
    }
  }
  throw new PlatformError('no_engine');
}

/** Engines for an event; the best engine comes first. @throws {PlatformError} `deployment_quarantined`. */
function candidates({ deployment, project }: Envelope, { state, homes, want }: DeliveryDeps): EngineState[] {
  const { engines, quarantine } = state();
  const isIt = (key: DeploymentKey): boolean =>
    key === `${project}/${deployment}` || (project === '' && key.endsWith(`/${deployment}`));
  const listening = engines.filter((engine) => engine.state === 'listening');
  const apart = quarantine.find((entry) => isIt(entry.deployment));
  if (apart !== undefined) {
    // No other engine may run the event, because the deployment kills engines.
    const own = listening.filter(({ role, place }) => role === 'quarantine' && place === apart.deployment);
    if (apart.until === null && own.length > 0) return own;
    if (apart.until === null) want?.(apart.deployment);
    const seconds = apart.until === null ? 1 : Math.max(1, Math.ceil((Date.parse(apart.until) - Date.now()) / 1000));
    throw new PlatformError('deployment_quarantined', { strikes: apart.strikes, retryAfterSeconds: seconds });
  }
  const serving = listening.filter(({ role, place }) => role === 'serving' && typeof place === 'number');
  const order = homes(
    `${project}/${deployment}`,
    serving.map(({ place }) => place as number),
  );
  return order.flatMap((home) => serving.filter(({ place }) => place === home));
}

interface Envelope {
  readonly deployment: string;
  /** Empty if the sender did not set it. The event may then not reach the engine where the deployment is warm. */
  readonly project: string;
  readonly kind: string;
  readonly traces: readonly string[];
}

/**
 * Reads the recipient of an event. The broker sends the recipient in headers, so that the event passes through
 * unparsed.
 */
async function readEnvelope(request: IncomingMessage, bytesMax: number): Promise<{ body: Buffer; envelope: Envelope }> {
  const { headers } = request;
  if (headers['content-type'] !== EVENT_TYPE) return readJsonEnvelope(request, bytesMax);
  const {
    [EVENT_HEADERS.deployment]: deployment,
    [EVENT_HEADERS.project]: project,
    [EVENT_HEADERS.kind]: kind,
    [EVENT_HEADERS.traces]: traces,
  } = headers;
  if (typeof deployment !== 'string' || typeof project !== 'string' || !isEventKind(kind))
    throw new PlatformError('bad_request', {
      reason: 'An event must have its deployment, project and kind in headers',
    });
  const envelope = { deployment, project, kind, traces: tracesOf(traces) };
  return { body: await readBody(request, bytesMax), envelope };
}

/** Reads an event in the format for operators, as JSON. */
async function readJsonEnvelope(
  request: IncomingMessage,
  bytesMax: number,
): Promise<{ body: Buffer; envelope: Envelope }> {
  const { value } = await readJsonBody(request, bytesMax);
  const { deployment, kind, event, project = '' } = (value ?? {}) as Record<string, unknown>;
  if (typeof deployment !== 'string' || typeof project !== 'string' || !isEventKind(kind) || event === undefined)
    throw new PlatformError('bad_request', {
      reason: `The body must be {"deployment": "<id>", "kind": "${eventKinds.join('|')}", "event": ...}`,
    });
  return {
    body: encodeEvent({ head: JSON.stringify(event), bodies: [] }),
    envelope: { deployment, project, kind, traces: [] },
  };
}

function refusal(kind: string, code: ErrorCode, details: ErrorDetails): DeliveryAnswer {
  const body = `${JSON.stringify({ error: errorMessage(code, details), code })}\n`;
  return { kind, status: errorTable[code].status, contentType: 'application/json', body };
}
