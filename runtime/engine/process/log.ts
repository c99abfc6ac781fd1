// An engine's log: lines of workers and ends of invocations, with fields to search by. Made by main.ts. Query strings
// are omitted, because they may contain secrets.
import type { Logger } from 'pino';
import { requestLogFrom } from '#core/log/log-level.ts';
import { openLog, type LogDestination } from '#core/log/log.ts';
import type { RequestRecord } from '../invocation/request-record.ts';
import type { HandlerDeps } from '../handler.ts';
import { outcomeLabel, outcomeLevel } from '../invocation/outcome.ts';

/** The log of an engine, and the callbacks for its handler. */
export interface EngineLog extends Pick<HandlerDeps, 'onLog' | 'onRequest' | 'onlyFailures'> {
  readonly log: Logger;
}

/** @throws {Error} when `LOG_LEVEL`, `LOG_FORMAT` or `LOG_REQUESTS` is invalid. */
export function openEngineLog(
  environment: Readonly<Record<string, string | undefined>>,
  destination?: LogDestination,
): EngineLog {
  const log = openLog('engine', environment, destination);
  const requests = requestLogFrom(environment);
  const recordsOk = requests === 'all' ? log.isLevelEnabled('info') : log.isLevelEnabled('debug');
  const onRequest = (record: RequestRecord): void => {
    const level = outcomeLevel(record.outcome, record.status);
    log[level === 'debug' && requests === 'all' ? 'info' : level](requestFields(record), 'invocation');
  };
  return {
    log,
    onLog: ({ id, project }, { level, text, invocation, traceId }) =>
      log[level](
        {
          deployment: id,
          project,
          ...(invocation === null ? {} : { invocation }),
          ...(traceId === null ? {} : { traceId }),
        },
        text,
      ),
    onRequest: requests === 'none' || !log.isLevelEnabled('error') ? null : onRequest,
    onlyFailures: !recordsOk,
  };
}

function requestFields(record: RequestRecord): object {
  const {
    deployment,
    project,
    invocation,
    kind,
    outcome,
    status,
    cpuMs,
    wallMs,
    method,
    target,
    event,
    traceId,
    requestId,
  } = record;
  return {
    deployment,
    project,
    invocation,
    kind,
    outcome: outcomeLabel(outcome),
    ...(event === null
      ? {}
      : { event: event.name, ...(event.id === '' ? {} : { eventId: event.id }), attempt: event.attempt }),
    ...(kind === 'http' ? { method, path: target.split('?', 1)[0], status } : {}),
    cpuMs: rounded(cpuMs),
    wallMs: rounded(wallMs),
    ...(traceId === null ? {} : { traceId }),
    ...(requestId === null ? {} : { requestId }),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
