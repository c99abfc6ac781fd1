// The project in the dashboard, and its activity: configuration, requests, logs, live events.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { invalid } from '../../engine/bindings/arguments.ts';
import { answered, deploymentOf, notFound, type DashboardRequest, type DashboardDeps, type Route } from './api.ts';
import type { Noted } from './activity.ts';

// `node:http` is not imported, because an import reads all exports, including the getters that load Node's own HTTP
// client.
const { request: sendRequest } = process.getBuiltinModule('node:http');

/** If a listener has not received this many bytes, its stream is ended, and it reconnects. */
const BEHIND_BYTES_MAX = 4 * 1024 * 1024;
const PING_MS = 15_000;
/** The number of a record, or an empty text. */
const SEQ = /^\d{0,15}$/;

function project({ deps }: DashboardRequest): object {
  return { name: nameOf(deps), url: deps.url() };
}

/** The name in platform.yaml, or the name that dev uses. */
function nameOf({ current, project: name }: DashboardDeps): string {
  const config = current()?.config as { name?: string | null } | null | undefined;
  return config?.name ?? name;
}

/** Returns bindings, schedules and settings, without values of variables. */
function configuration(asked: DashboardRequest): object {
  const shown = asked.deps.current();
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

function recent(type: Noted['type']): (asked: DashboardRequest) => object {
  return ({ deps, query }) => {
    const after = query.get('after') ?? '';
    if (!SEQ.test(after)) throw invalid('after must be the number of a record');
    return { [`${type}s`]: deps.activity.since(Number(after)).filter((noted) => noted.type === type) };
  };
}

function requestOf({ params, deps }: DashboardRequest): Noted & { type: 'request' } {
  const seq = Number(params['seq']);
  const found = deps.activity.since(seq - 1)[0];
  if (found === undefined || found.seq !== seq || found.type !== 'request')
    throw notFound('The request is no longer recorded');
  return found;
}

/** Returns a request with its headers, its log lines, and whether it can be replayed. */
function one(asked: DashboardRequest): object {
  const request = requestOf(asked);
  const { activity } = asked.deps;
  const recorded = activity.recorded(request.seq);
  return {
    request,
    lines: activity.since(0).filter((noted) => noted.type === 'log' && noted.invocation === request.invocation),
    replay: recorded === null ? 'gone' : recorded.body === null ? 'body' : 'ready',
    body: recorded?.body == null ? null : Buffer.from(recorded.body).toString('base64'),
  };
}

/** Hop-by-hop headers. */
const NOT_SENT =
  /^(?:connection|content-length|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i;
const REPLAY_MS = 60_000;

/** Sends a request again with its original headers and body. */
async function replay(asked: DashboardRequest): Promise<object> {
  const { method, path, seq } = requestOf(asked);
  const recorded = asked.deps.activity.recorded(seq);
  if (recorded === null)
    throw invalid('The headers and body are lost after a restart of dev: send it as a new request');
  if (recorded.body === null) throw invalid('The body was too long to be recorded: send it as a new request');
  const { hostname, port } = new URL(asked.deps.url());
  const headers = recorded.requestHeaders.filter(([name]) => !NOT_SENT.test(name)).flat();
  const host = recorded.requestHeaders.find(([name]) => name === 'host')?.[1] ?? `${hostname}:${port}`;
  const sent = sendRequest({
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method,
    path,
    headers: ['host', host, ...headers, 'content-length', String(recorded.body.byteLength)],
    timeout: REPLAY_MS,
  });
  sent.on('timeout', () => sent.destroy(new Error('it took too long')));
  sent.end(recorded.body);
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    // The response is discarded here, because it is shown with the new request.
    response.resume();
    return { status: response.statusCode };
  } catch (error) {
    throw invalid(`The project did not answer: ${(error as Error).message}`);
  }
}

/** Sends server-sent events: first the kept records, then new records. `Last-Event-ID` resumes a broken connection. */
function stream(asked: DashboardRequest): typeof answered {
  const { request, response, deps } = asked;
  const last = request.headers['last-event-id'] ?? asked.query.get('after');
  const after = typeof last === 'string' && SEQ.test(last) ? Number(last) : 0;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  response.flushHeaders();
  const send = (noted: Noted): void => {
    if (response.writableLength > BEHIND_BYTES_MAX) response.destroy();
    else response.write(`id: ${noted.seq}\ndata: ${JSON.stringify(noted)}\n\n`);
  };
  for (const noted of deps.activity.since(after)) send(noted);
  const silence = deps.activity.listen(send);
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
      if (p !== nameOf(asked.deps) && p !== asked.deps.project) throw notFound('No such project');
      return configuration(asked);
    },
  ],
  ['GET', '/api/requests', recent('request')],
  ['GET', '/api/requests/:seq', one],
  ['POST', '/api/requests/:seq/replay', replay],
  ['DELETE', '/api/activity', ({ deps }) => deps.activity.clear()],
  ['GET', '/api/logs', recent('log')],
  ['GET', '/api/activity', stream],
  [
    'GET',
    '/api/sandboxes',
    async (asked) => {
      const declared = Object.entries(deploymentOf(asked).manifest.bindings['sandbox'] ?? {});
      const lists = declared.map(async ([binding, resource]) =>
        (await asked.deps.sandboxesOf(resource)).map((one) => ({ binding, ...one })),
      );
      return { sandboxes: (await Promise.all(lists)).flat() };
    },
  ],
];
