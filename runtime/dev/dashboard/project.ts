// The project as the dashboard shows it, and what happens in it: configuration, requests, logs, live events.
import { PlatformError } from '#core/errors.ts';
import { answered, countOf, deploymentOf, notFound, type Asked, type DashboardParts, type Route } from './api.ts';
import type { Noted } from './activity.ts';

/** Bytes that a listener has not taken: above it, it is cut off and comes again. */
const BEHIND_BYTES_MAX = 4 * 1024 * 1024;
const PING_MS = 15_000;

function project({ parts }: Asked): object {
  return { name: nameOf(parts), url: parts.url() };
}

/** What platform.yaml says, or the name that dev goes by. */
function nameOf({ current, project: name }: DashboardParts): string {
  const config = current()?.config as { name?: string | null } | null | undefined;
  return config?.name ?? name;
}

/** Bindings, schedules and settings. Values of variables are never among it. */
function configuration(asked: Asked): object {
  const shown = asked.parts.current();
  if (shown === null) return { ...project(asked), ready: false };
  const { manifest, variables, config, id } = shown;
  const { bindings, cron, kind, compatibilityDate, compatibilityFlags, assets } = manifest;
  return {
    ...project(asked),
    ready: true,
    deployment: id,
    kind,
    compatibilityDate,
    compatibilityFlags,
    bindings,
    cron,
    variables,
    assets: assets === null ? null : { binding: assets.binding, files: Object.keys(assets.files).length },
    config,
  };
}

function recent(type: Noted['type']): (asked: Asked) => object {
  return ({ parts, query }) => {
    const after = countOf(query, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER, otherwise: 0 });
    return { [`${type}s`]: parts.activity.since(after).filter((noted) => noted.type === type) };
  };
}

/** Server-sent events: what is kept, then all that happens. `Last-Event-ID` goes on where a connection broke. */
function stream(asked: Asked): typeof answered {
  const { request, response, parts } = asked;
  const last = request.headers['last-event-id'];
  const after = typeof last === 'string' && /^\d{1,15}$/.test(last) ? Number(last) : 0;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  response.flushHeaders();
  const send = (noted: Noted): void => {
    if (response.writableLength > BEHIND_BYTES_MAX) response.destroy();
    else response.write(`id: ${noted.seq}\ndata: ${JSON.stringify(noted)}\n\n`);
  };
  for (const noted of parts.activity.since(after)) send(noted);
  const silence = parts.activity.listen(send);
  const ping = setInterval(() => response.write(':\n\n'), PING_MS).unref();
  response.on('close', () => {
    silence();
    clearInterval(ping);
  });
  return answered;
}

export const projectRoutes: readonly Route[] = [
  ['GET', '/api/config', configuration],
  ['GET', '/api/projects', (asked) => ({ projects: [project(asked)] })],
  [
    'GET',
    '/api/projects/:p/config',
    (asked) => {
      const { p } = asked.params;
      if (p !== nameOf(asked.parts) && p !== asked.parts.project) throw notFound('There is no such project here');
      return configuration(asked);
    },
  ],
  ['GET', '/api/requests', recent('request')],
  ['GET', '/api/logs', recent('log')],
  ['GET', '/api/activity', stream],
  [
    'GET',
    '/api/sandboxes',
    (asked) => {
      // Where none is declared, there is none; where one is, nobody runs it yet.
      if (deploymentOf(asked).manifest.bindings['sandbox'] === undefined) return { sandboxes: [] };
      throw new PlatformError('not_supported', { what: 'A list of sandboxes' });
    },
  ],
];
