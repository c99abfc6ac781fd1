// The placeholder page of a site that is not available yet, with the reason and without scripts.
import type { ServerResponse } from 'node:http';
import { pageHeaders, pageOf } from '#core/error-page.ts';
import { siteHeaders } from './headers.ts';

const REFRESH_SECONDS = 2;

/**
 * @param text one sentence, without markup.
 * @param isBuilding refreshes the page automatically.
 */
export function answerWaiting(response: ServerResponse, title: string, text: string, isBuilding: boolean): void {
  const headers = [
    ...Object.entries(siteHeaders({}, false)),
    ...pageHeaders("form-action 'none'; frame-ancestors 'none'"),
  ];
  for (const [name, value] of headers) response.setHeader(name, value);
  response.writeHead(503, {
    'cache-control': 'no-store',
    'retry-after': String(REFRESH_SECONDS),
    ...(isBuilding && { refresh: String(REFRESH_SECONDS) }),
  });
  response.end(response.req.method === 'HEAD' ? undefined : pageOf(null, { title, text }));
}
