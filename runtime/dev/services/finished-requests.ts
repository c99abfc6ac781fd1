// Finished requests and events of `platform dev`: recorded for its dashboard, and passed to the caller of dev.ts.
import type { Exchange } from '../../engine/http/listener.ts';
import { outcomeLabel, reasonOf } from '../../engine/invocation/outcome.ts';
import type { RequestRecord } from '../../engine/invocation/request-record.ts';
import type { DevOptions } from '../contract/dev-engine.ts';
import type { Activity } from '../dashboard/activity.ts';
import { isOfDashboard } from '../dashboard/open.ts';
import { RecordedExchange } from '../dashboard/recorded-exchange.ts';

/** Maximum number of pending requests whose headers are recorded. */
const UNDER_WAY_MAX = 500;

interface FinishedRequests {
  /** Returns the exchange that is served instead of this one, so that the dashboard can show and replay the request. */
  recording(exchange: Exchange): Exchange;
  /** The function for `onRequest` of a handler. */
  ended(record: RequestRecord): void;
}

export function createFinishedRequests(activity: Activity, onRequest: DevOptions['onRequest']): FinishedRequests {
  /** Pending requests whose headers are recorded. */
  const underWay = new Set<RecordedExchange>();
  return {
    recording(exchange) {
      const recorded = new RecordedExchange(exchange);
      underWay.add(recorded);
      // Requests for static files have no record at their end.
      if (underWay.size > UNDER_WAY_MAX) underWay.delete(underWay.values().next().value!);
      return recorded;
    },
    ended(record) {
      const {
        kind,
        deployment,
        method,
        target: path,
        status,
        event,
        outcome: ending,
        cpuMs,
        wallMs,
        invocation,
      } = record;
      // Calls of the dashboard to bindings are not requests to the project.
      if (isOfDashboard(deployment)) return;
      const outcome = outcomeLabel(ending);
      const reason = ending.kind === 'ok' ? '' : reasonOf(ending);
      const ended = { outcome, cpuMs, wallMs, invocation, ...(reason !== '' && { reason }) };
      if (kind === 'http') {
        const id = record.requestId ?? invocation;
        const exchange = [...underWay].find(({ requestId }) => requestId === id);
        if (exchange !== undefined) underWay.delete(exchange);
        activity.note({ type: 'request', method, path, status, ...ended }, exchange?.recorded());
      } else if (event !== null && kind !== 'object')
        activity.note({ type: 'event', kind, name: event.name, id: event.id, ...ended });
      onRequest({ kind, method, path, status, event, outcome, reason, cpuMs, wallMs });
    },
  };
}
