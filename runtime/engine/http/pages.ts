// The few pages that the handler itself returns.
import { errorMessage, errorTable, type ErrorCode } from '#core/errors.ts';
import type { Exchange } from './listener.ts';

const MESSAGE_CHARS_MAX = 500;

/** 404 for a host without a deployment; it names the host. */
export function hostNotFound(exchange: Exchange): void {
  const message = errorMessage('host_not_found', { host: exchange.host.replace(/:\d+$/, '') });
  if (exchange.header('accept')?.includes('text/html') !== true) {
    exchange.send(
      404,
      'content-type\0application/json\0cache-control\0no-store\0x-platform-error\0host_not_found\0',
      JSON.stringify({ error: message, code: 'host_not_found' }),
    );
    return;
  }
  // The listener allows no character that is special in HTML; escaped all the same.
  const text = message.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>404</title><style>body{font:16px/1.5 system-ui;margin:20vh auto;max-width:36em;padding:0 1em}h1{font-size:1.2em}</style><h1>${text}</h1><p>Check the address, or deploy a project of this name: <code>platform deploy --name NAME</code></p></html>`;
  exchange.send(
    404,
    'content-type\0text/html;charset=utf-8\0cache-control\0no-store\0x-platform-error\0host_not_found\0',
    page,
  );
}

/**
 * Answers for an exposed port of a sandbox that is unreachable.
 *
 * @param said the sandbox service's message; shown if the visitor or the sandbox is the cause.
 */
export function refusePort(exchange: Exchange, code: ErrorCode, said: string): void {
  const { status, blame } = errorTable[code];
  const isOwn = blame === 'platform' || code === 'sandbox_unauthorized' || said === '';
  const message = isOwn ? 'The sandbox is unavailable: try again' : said.slice(0, MESSAGE_CHARS_MAX);
  const head = `cache-control\0no-store\0x-robots-tag\0noindex\0x-platform-error\0${code}\0`;
  if (exchange.header('accept')?.includes('text/html') !== true) {
    exchange.send(status, `${head}content-type\0application/json\0`, JSON.stringify({ error: message, code }));
    return;
  }
  const text = message.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status}</title><style>body{font:16px/1.5 system-ui;margin:20vh auto;max-width:36em;padding:0 1em}h1{font-size:1.2em}</style><h1>${text}</h1></html>`;
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  exchange.send(
    status,
    `${head}content-type\0text/html;charset=utf-8\0content-security-policy\0${policy}\0x-content-type-options\0nosniff\0`,
    page,
  );
}
