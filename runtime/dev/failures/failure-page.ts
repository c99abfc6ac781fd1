// Responses of `platform dev` for requests to which production only responds with a short error: contain the errors
// with stack and code frame, as a page for browsers, and as JSON for other clients. Pure. The texts on the page are
// untrusted, so they are escaped, and only this page's own script runs.
import { randomBytes } from 'node:crypto';
import type { FailureResponse } from '../../engine/http/error-pages.ts';

/** An error, for the author of the project. */
export interface ShownError {
  /** The class of a thrown error. */
  readonly name?: string | undefined;
  readonly message: string;
  /** Path relative to the project. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Surrounding source lines, with a marker. */
  readonly frame?: string | undefined;
  /** The stack, mapped to the sources. */
  readonly stack?: string | undefined;
  /** Instructions to fix the problem. */
  readonly advice?: string | undefined;
}

/** A failure with its errors, and whether the page reloads when they are fixed. */
export interface ShownFailure {
  /** The response that visitors would get in production. */
  readonly plain: FailureResponse;
  readonly title: string;
  readonly errors: readonly ShownError[];
  readonly note: string;
  /** The change stream and version for reloads; null if the page does not reload. */
  readonly reload: { readonly path: string; readonly version: string } | null;
}

/** @param accept the header of the request, which shows whether a browser displays the response. */
export function acceptsPages(accept: string | null): boolean {
  return accept?.includes('text/html') === true;
}

/** @param accept the header of the request. */
export function failureAnswer(failure: ShownFailure, accept: string | null): FailureResponse {
  const { status, headerBlock } = failure.plain;
  const common = `${headerBlock}x-content-type-options\0nosniff\0`;
  if (!acceptsPages(accept)) return { status, headerBlock: common, body: JSON.stringify(asJson(failure)) };
  const nonce = randomBytes(16).toString('base64');
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'`;
  return {
    status,
    headerBlock: `${common.replace('content-type\0application/json', 'content-type\0text/html;charset=utf-8')}content-security-policy\0${policy}\0`,
    body: pageOf(failure, nonce),
  };
}

function asJson({ plain, title, errors }: ShownFailure): object {
  const [first] = errors;
  const error = first === undefined || first.message === title ? title : `${title}: ${first.message}`;
  return { ...(JSON.parse(plain.body) as object), error, ...first, ...(errors.length > 1 && { errors }) };
}

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:8vh auto;max-width:60em;padding:0 1em}
h1{font-size:1em;font-weight:normal;color:#b3261e;margin:0}h2{font-size:1.3em;margin:.2em 0 .6em;white-space:pre-wrap;overflow-wrap:anywhere}
pre{background:#8881;border-radius:6px;padding:1em;overflow:auto;font:14px/1.5 ui-monospace,monospace}
.place{font-family:ui-monospace,monospace;font-size:14px}p{color:#6b6b6b}mark{background:#b3261e33;color:inherit}
@media(prefers-color-scheme:dark){h1{color:#f2b8b5}p{color:#a0a0a0}mark{background:#f2b8b533}}`;

function pageOf({ plain, title, errors, note, reload }: ShownFailure, nonce: string): string {
  const first = errors[0];
  const heading = first === undefined ? title : headline(first);
  const script =
    reload === null
      ? ''
      : `<script nonce="${nonce}">new EventSource(${inScript(reload.path)}).onmessage = ({ data }) => data === ${inScript(reload.version)} || location.reload();</script>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(heading)}</title><style nonce="${nonce}">${style}</style>
<main><h1>${escaped(title)} (${plain.status})</h1>
${errors.map((error) => section(error, title)).join('\n')}
<p>${escaped(note)}</p></main>${script}</html>
`;
}

function headline({ name, message }: ShownError): string {
  return name === undefined ? message : `${name}: ${message}`;
}

function section(error: ShownError, title: string): string {
  const { file, line, column, frame, stack, advice } = error;
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return [
    ...(error.message === title ? [] : [`<h2>${escaped(headline(error))}</h2>`]),
    ...(place === '' ? [] : [`<div class="place">${escaped(place)}</div>`]),
    ...(frame === undefined ? [] : [`<pre>${escaped(frame).replace(/^&gt;.*$/m, '<mark>$&</mark>')}</pre>`]),
    ...(advice === undefined ? [] : [`<p>${escaped(advice)}</p>`]),
    ...(stack === undefined ? [] : [`<pre>${escaped(stack)}</pre>`]),
  ].join('\n');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => (letter === '>' ? '&gt;' : `&#${letter.charCodeAt(0)};`));
}

/** A text as a literal in the page's script, which cannot end the script. */
function inScript(text: string): string {
  return JSON.stringify(text).replaceAll('<', '\\u003c');
}
