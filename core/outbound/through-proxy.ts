// A connection through an HTTP proxy of the machine, such as a company's proxy. Called by connect.ts.
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';

/**
 * Opens a tunnel (`CONNECT`).
 *
 * @param proxy `http:` or `https:`, with a user name and a password if it requires them.
 * @param target `<host>:<port>`
 * @throws {Error} with a `code`: `EPROXY` when the proxy refuses.
 */
export function connectThrough(proxy: URL, target: string, timeout: number): Promise<Socket> {
  const isSecure = proxy.protocol === 'https:';
  const authorization =
    proxy.username === ''
      ? {}
      : {
          'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}`,
        };
  return new Promise((resolve, reject) => {
    const asked = (isSecure ? requestHttps : requestHttp)({
      host: proxy.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: proxy.port || (isSecure ? 443 : 80),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...authorization },
      agent: false,
      timeout,
    });
    const fail = (code: string): void =>
      reject(Object.assign(new Error(`The proxy ${proxy.host} does not connect to ${target}`), { code }));
    asked.once('connect', (answer, socket, head) => {
      if (answer.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket as Socket);
        return;
      }
      socket.destroy();
      fail('EPROXY');
    });
    asked.once('response', (answer) => (answer.destroy(), fail('EPROXY')));
    asked.once('timeout', () => (asked.destroy(), fail('ETIMEDOUT')));
    asked.once('error', ({ code = 'ECONNREFUSED' }: NodeJS.ErrnoException) => fail(code));
    asked.end();
  });
}
