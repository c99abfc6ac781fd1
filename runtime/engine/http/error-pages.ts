// Chooses between JSON and a page for a request that the platform itself answers with an error. Programs get JSON, and
// browsers that navigate get a page (core/error-page.ts).
import { errorPage, pageHeaders } from '#core/error-page.ts';
import { prefersPage } from './page-preference.ts';
import type { Exchange } from './listener.ts';

/** The response of a failed request. */
export interface FailureResponse {
  readonly status: number;
  readonly headerBlock: string;
  readonly body: string;
}

const JSON_TYPE = 'content-type\0application/json\0';
const JSON_HEAD = `${JSON_TYPE}cache-control\0no-store\0`;
const PAGE_HEAD = blockOf(pageHeaders());

function blockOf(headers: ReturnType<typeof pageHeaders>): string {
  return headers.map(([name, value]) => `${name}\0${value}\0`).join('');
}

/**
 * Changes the headers of a JSON response for a page of the platform.
 *
 * @param policy additional directives of the content security policy.
 */
export function pageBlock(jsonBlock: string, policy?: string): string {
  const head = policy === undefined ? PAGE_HEAD : blockOf(pageHeaders(policy));
  return head + jsonBlock.replace(JSON_TYPE, '');
}

/** The headers of a failure, without those that describe its body. */
export function failureHeaders({ headerBlock }: FailureResponse): string {
  return headerBlock.replace(JSON_HEAD, '');
}

/** Returns the response as a page, if a browser displays it. @param response JSON. */
function forVisitor(exchange: Exchange, response: FailureResponse): FailureResponse {
  if (!prefersPage(exchange)) return response;
  const { status, headerBlock } = response;
  return { status, headerBlock: pageBlock(headerBlock), body: errorPage(status, exchange.requestId) };
}

/** Sends the response of a failure, as a page if a browser displays it. @param response JSON. */
export function sendFailure(exchange: Exchange, response: FailureResponse): void {
  const { status, headerBlock, body } = forVisitor(exchange, response);
  exchange.send(status, headerBlock, body);
}
