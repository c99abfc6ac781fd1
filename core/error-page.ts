// Pages that visitors see in browsers when a site cannot answer: plain pages without scripts and external files.
// Rendered once; used by the engine and by the edge. Imports no file of the repository.
import { createHash } from 'node:crypto';

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:22vh auto 0;max-width:28em;padding:0 1.5em;color:#222;background:#fff}
h1{font-size:1.25em;font-weight:600;margin:0}p{margin:.4em 0 0;overflow-wrap:anywhere}.status,.id{color:#6b6b6b;font-size:.875em}.id{margin-top:2em}code{font:inherit;font-family:ui-monospace,monospace}
form{margin-top:1.2em}label{display:block}input,button{font:inherit;padding:.45em .6em;box-sizing:border-box;width:100%;margin:.3em 0;border:1px solid #8888;border-radius:6px}
button{border-color:transparent;background:#222;color:#fff;cursor:pointer}form+p{color:#b3261e}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}.status,.id{color:#a0a0a0}button{background:#e8e8e8;color:#161616}form+p{color:#f2b8b5}}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/**
 * Headers of the pages. Only the style of the pages is allowed.
 *
 * @param more additional directives of the content security policy, for pages with a form.
 */
export function pageHeaders(more: string = "form-action 'none'"): readonly (readonly [name: string, value: string])[] {
  return [
    ['content-type', 'text/html;charset=utf-8'],
    ['content-security-policy', `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; ${more}`],
    ['x-content-type-options', 'nosniff'],
  ];
}

/** A page: its title, and a sentence with advice. */
interface PageText {
  readonly title: string;
  readonly text: string;
}

/** By status. */
const TEXTS: Readonly<Record<number, PageText>> = {
  400: { title: 'Bad request', text: 'The address of this page is not valid.' },
  404: { title: 'Page not found', text: 'There is no page at this address.' },
  405: { title: 'Method not allowed', text: 'This page does not accept this kind of request.' },
  500: { title: 'Something went wrong', text: 'The site could not answer this request. Try again later.' },
  502: { title: 'Something went wrong', text: 'The site did not answer. Try again in a moment.' },
  503: { title: 'Temporarily unavailable', text: 'The site cannot answer right now. Try again in a moment.' },
  504: { title: 'The site took too long', text: 'The site did not answer in time. Try again later.' },
};

/** The page of a host without a site: no deployment, or a domain whose setup is unfinished. */
export const siteNotFoundPage = pageOf(404, {
  title: 'Site not found',
  text: 'There is no site at this address. If the address is new, it may take a few minutes until the site appears.',
});

const ID_MARK = '\0';
const PAGES: ReadonlyMap<number, { readonly plain: string; readonly withId: readonly string[] }> = new Map(
  Object.entries(TEXTS).map(([status, text]) => [
    Number(status),
    {
      plain: pageOf(Number(status), text),
      withId: pageOf(Number(status), text, `<p class="id">Request ID: <code>${ID_MARK}</code></p>`).split(ID_MARK),
    },
  ]),
);

/**
 * The page of a status; an unknown status gets the page of 500.
 *
 * @param requestId shown, so that the owner of the site finds the request in the logs; '' if it is not to be shown.
 */
export function errorPage(status: number, requestId: string): string {
  const { plain, withId } = PAGES.get(status) ?? PAGES.get(500)!;
  // No request id contains other characters.
  return /^[\w.:/+=@-]{1,128}$/.test(requestId) ? withId.join(requestId) : plain;
}

/**
 * A page with its own content.
 *
 * @param status shown above the title; null if not shown.
 * @param content HTML below the text.
 */
export function pageOf(status: number | null, { title, text }: PageText, content: string = ''): string {
  const shown = status === null ? '' : `<p class="status">${status}</p>`;
  const sentence = text === '' ? '' : `<p>${escapeHtml(text)}</p>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${escapeHtml(title)}</title><style>${STYLE}</style><main>${shown}<h1>${escapeHtml(title)}</h1>${sentence}${content}</main></html>
`;
}

/** A text as content of an element, or of a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
