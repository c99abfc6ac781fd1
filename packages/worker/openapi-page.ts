// The page that shows an API description: three small files from the app itself, without external files. The content
// security policy allows no inline script or style.
import { packedScript, packedStyle } from './openapi-page-files.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src *; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The routes of the page: pattern below the app, and handler. @param document path of the description, for clients. */
export function pageRoutes(path: string, document: string, title: string, prefix: string): [string, () => Response][] {
  const base = path === '/' ? '' : path;
  const at = `${prefix}${base}`;
  const file = (body: () => string | ReadableStream, type: string) => (): Response =>
    new Response(body(), {
      headers: {
        'content-type': `${type}; charset=utf-8`,
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
      },
    });
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="${escapeHtml(at)}/page.css">
<body data-document="${escapeHtml(document)}">
<noscript>This page needs JavaScript. The description itself is at ${escapeHtml(document)}.</noscript>
<script type="module" src="${escapeHtml(at)}/page.js"></script>
`;
  return [
    [path, file(() => html, 'text/html')],
    [`${base}/page.css`, file(() => unpacked(packedStyle), 'text/css')],
    [`${base}/page.js`, file(() => unpacked(packedScript), 'text/javascript')],
  ];
}

/** The text of a compressed file. */
function unpacked(base64: string): ReadableStream {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Response(bytes).body!.pipeThrough(new DecompressionStream('deflate-raw'));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);
}
