// Routes of an engine's Unix socket, except its health: status, metrics, deliveries. Used by the supervisor and clients
// of its private port. Created by main.ts, served by internal-server.ts.
import { errorMessage } from '#core/errors.ts';
import { isArtifactId, isProjectName } from '#core/names.ts';
import { plans, type Plan } from '#core/plans.ts';
import type { createEngineReports } from './reports.ts';
import type { Handler } from '../handler.ts';
import { decodeEvent, EVENT_HEADERS, EVENT_TYPE, tracesOf } from '#core/event-codec.ts';
import { isEventKind } from '#core/event.ts';
import type { DeliveryEnd } from '../invocation/delivery.ts';
import { outcomeLabel } from '../invocation/outcome.ts';
import type { RecentLog } from './recent-log.ts';
import { readBytes } from './request-bytes.ts';
import type { Route } from '../router/project-routes.ts';
import { answerJson, answerText, type InternalRoutes } from './internal-server.ts';

/** Dependencies of the routes. */
interface InternalRouteDeps {
  readonly handler: Pick<Handler, 'deliver' | 'check'>;
  readonly recent: Pick<RecentLog, 'read'>;
  /** Whether a project is served according to the record with this hash; '' asks whether the project is not served. */
  readonly isRouted: (project: string, hash: string) => boolean;
  readonly reports: ReturnType<typeof createEngineReports>;
  /** Maximum size of a delivery. */
  readonly bodyBytesMax: number;
}

/** The routes of an engine. */
export function internalRoutes({
  handler,
  reports,
  recent,
  isRouted,
  bodyBytesMax,
}: InternalRouteDeps): InternalRoutes {
  return {
    'GET /_platform/status': (_request, response) => answerJson(response, 200, reports.status()),
    'GET /_platform/metrics': (_request, response) => answerJson(response, 200, reports.metrics()),
    'GET /_platform/logs'(request, response) {
      const query = new URLSearchParams(request.url?.split('?', 2)[1] ?? '');
      answerJson(response, 200, recent.read(query.get('project') ?? '', Number(query.get('after') ?? 0)));
    },
    async 'POST /_platform/deliver'(request, response) {
      const refuse = (status: number, error: string): void =>
        answerJson(response, status, { error, code: 'bad_request' });
      const bytes = await readBytes(request, bodyBytesMax);
      if (bytes === null) return refuse(413, `The body is larger than ${bodyBytesMax} bytes`);
      const {
        [EVENT_HEADERS.deployment]: deployment,
        [EVENT_HEADERS.kind]: kind,
        [EVENT_HEADERS.traces]: traces,
      } = request.headers;
      const event = decodeEvent(bytes);
      if (typeof deployment !== 'string' || !isEventKind(kind) || event === null)
        return refuse(400, `A delivery is an ${EVENT_TYPE} with its deployment and kind in headers`);
      answerText(
        response,
        200,
        delivered(await handler.deliver(deployment, kind, { ...event, traces: tracesOf(traces) })),
      );
    },
    async 'POST /_platform/check'(request, response) {
      const bytes = await readBytes(request, bodyBytesMax);
      const asked = bytes === null ? null : parseCheck(bytes.toString('utf8'));
      if (asked === null)
        return answerJson(response, 400, { error: 'A check names an artifact or a record', code: 'bad_request' });
      if ('record' in asked) return answerJson(response, 200, { routed: isRouted(asked.project, asked.record) });
      const { outcome, lines } = await handler.check(asked.route);
      const error = outcome.kind === 'ok' ? null : errorMessage(outcome.code, outcome.details);
      answerJson(response, 200, {
        outcome: outcomeLabel(outcome),
        error,
        lines: lines.map(({ level, text: line }) => ({ level, text: line })),
      });
    },
  };
}

/**
 * Parses a check, which asks whether a route record with this hash is loaded, or whether the worker of an artifact
 * starts.
 */
function parseCheck(text: string): { project: string; record: string } | { route: Route } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { record, artifact, project, plan, vars } = (value ?? {}) as Record<string, unknown>;
  if (typeof project !== 'string' || !isProjectName(project)) return null;
  if (typeof record === 'string') return { project, record };
  if (typeof artifact !== 'string' || !isArtifactId(artifact)) return null;
  if (!plans.includes(plan as Plan) || typeof vars !== 'object' || vars === null) return null;
  const texts = Object.fromEntries(
    Object.entries(vars).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  // The worker is started as a separate preview, which cannot reach production's data.
  const id = `check-${artifact.slice(0, 12)}`;
  const own = { branch: id, preview: id };
  return { route: { project, deployment: id, artifact, plan: plan as Plan, vars: texts, ...own } };
}

/**
 * `{outcome, result, cpuMs}`, and `error` in words when the outcome is not `ok`. The result is already JSON, and may
 * be long.
 */
function delivered({ outcome, result, cpuMs }: DeliveryEnd): string {
  const error = outcome.kind === 'ok' ? '' : `,"error":${JSON.stringify(errorMessage(outcome.code, outcome.details))}`;
  return `{"outcome":"${outcomeLabel(outcome)}","result":${result ?? 'null'},"cpuMs":${cpuMs}${error}}`;
}
