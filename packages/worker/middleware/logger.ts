// One log line per request. A log line never contains a header, a body or the values of a query.
import type { Middleware, RequestContext } from '../route-types.ts';
import { checkTexts } from './lists.ts';

/** Log options. */
export interface LoggerOptions {
  /** Method of `console`; failures (500 and above) are always errors. `info` by default. */
  readonly level?: 'debug' | 'info' | 'log';
  /** Requests that are not logged. */
  readonly skip?: (ctx: RequestContext<unknown, unknown>, response: Response) => boolean;
  /** Names of query parameters to show; the others are shown as `***`. None by default. */
  readonly showQuery?: readonly string[];
  /** Writes a line; `console` by default. */
  readonly write?: (line: string, entry: LogEntry) => void;
}

/** An answered request. */
export interface LogEntry {
  readonly method: string;
  readonly path: string;
  /** Pattern of the route, or null. */
  readonly route: string | null;
  readonly status: number;
  /** Wall time until the response, without its body. */
  readonly ms: number;
}

/** Logs a line for each request. @example platform().use(logger({ skip: (ctx) => ctx.path === '/health' })) */
export function logger(options: LoggerOptions = {}): Middleware {
  const { level = 'info', skip, showQuery = [], write } = options;
  checkTexts('logger: showQuery', 'names, such as ["page"]', showQuery);
  return async (ctx, next) => {
    const started = performance.now();
    const response = await next();
    if (skip?.(ctx, response) === true) return response;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    const entry: LogEntry = { method: ctx.req.method, path: ctx.path, route: ctx.route, status: response.status, ms };
    const line = `${entry.method} ${printable(ctx.path)}${queryOf(ctx, showQuery)} ${entry.status} ${entry.ms} ms`;
    if (write !== undefined) write(line, entry);
    else if (entry.status >= 500) console.error(line);
    else console[level](line);
    return response;
  };
}

function queryOf(ctx: RequestContext<unknown, unknown>, shown: readonly string[]): string {
  if (!ctx.req.url.includes('?')) return '';
  const parts = [...ctx.url.searchParams].map(
    ([key, value]) => `${printable(key)}=${shown.includes(key) ? printable(value) : '***'}`,
  );
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Escapes characters that could forge a line. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, '?');
}
