// Responses of the handler itself, for hosts without a deployment and for ports of sandboxes.
import { pageOf, siteNotFoundPage } from '#core/error-page.ts';
import { errorMessage, errorTable, type ErrorCode } from '#core/errors.ts';
import { prefersPage } from './page-preference.ts';
import { pageBlock } from './error-pages.ts';
import type { Exchange } from './listener.ts';

const MESSAGE_CHARS_MAX = 500;

/** Responds with 404 for a host without a deployment. The response contains the host only for programs. */
export function hostNotFound(exchange: Exchange): void {
  const block = 'content-type\0application/json\0cache-control\0no-store\0x-platform-error\0host_not_found\0';
  if (prefersPage(exchange)) return exchange.send(404, pageBlock(block), siteNotFoundPage);
  const error = errorMessage('host_not_found', { host: exchange.host.replace(/:\d+$/, '') });
  exchange.send(404, block, JSON.stringify({ error, code: 'host_not_found' }));
}

/**
 * Responds for an exposed port of a sandbox that is unreachable.
 *
 * @param said the sandbox service's message, which is shown if the visitor or the sandbox is the cause.
 */
export function refusePort(exchange: Exchange, code: ErrorCode, said: string): void {
  const { status, blame } = errorTable[code];
  const isOwn = blame === 'platform' || code === 'sandbox_unauthorized' || said === '';
  const message = isOwn ? 'The sandbox is unavailable: try again' : said.slice(0, MESSAGE_CHARS_MAX);
  const block = `cache-control\0no-store\0x-robots-tag\0noindex\0x-platform-error\0${code}\0content-type\0application/json\0`;
  if (prefersPage(exchange)) exchange.send(status, pageBlock(block), pageOf(status, { title: message, text: '' }));
  else exchange.send(status, block, JSON.stringify({ error: message, code }));
}
