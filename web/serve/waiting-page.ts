// The placeholder page of a site that is not available yet, with the reason and without scripts.
import type { ServerResponse } from 'node:http';
import { siteHeaders } from './headers.ts';

const REFRESH_SECONDS = 2;

/**
 * @param text one sentence, without markup.
 * @param isBuilding refreshes the page automatically.
 */
export function answerWaiting(response: ServerResponse, title: string, text: string, isBuilding: boolean): void {
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
${isBuilding ? `<meta http-equiv="refresh" content="${REFRESH_SECONDS}">` : ''}<title>${title}</title></head>
<body><main><h1>${title}</h1><p>${text}</p></main></body>
</html>
`;
  for (const [name, value] of Object.entries(siteHeaders({}, false))) response.setHeader(name, value);
  response.writeHead(503, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': String(REFRESH_SECONDS),
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
