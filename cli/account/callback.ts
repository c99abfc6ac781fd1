// The loopback server that receives the redirect of a login (RFC 8252): it handles one path and one request, then it
// closes. Received data is never displayed or executed.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pageHeaders, pageOf } from '#core/error-page.ts';
import { CliError } from '../terminal/failure.ts';

/** An open port. */
interface Callback {
  /** Redirect URL for the browser. */
  readonly url: string;
  /** Query of the redirect. Rejects with a CliError after five minutes. */
  readonly answered: Promise<URLSearchParams>;
  close(): void;
}

const WAIT_MS = 5 * 60_000;

const PAGE = pageOf(null, { title: 'Go back to the terminal', text: 'You are logged in. You can close this page.' });

/** Opens the callback server on a free port. */
export async function awaitCallback(): Promise<Callback> {
  const answer = Promise.withResolvers<URLSearchParams>();
  const server = createServer({ headersTimeout: 5000, maxHeaderSize: 16 * 1024 }, (request, response) => {
    const url = URL.parse(request.url ?? '', 'http://127.0.0.1');
    // Checking the path and the Host header protects against DNS rebinding.
    const isOurs =
      request.method === 'GET' &&
      url?.pathname === '/callback' &&
      /^127\.0\.0\.1:\d+$/.test(request.headers.host ?? '') &&
      url.searchParams.has('state');
    response.setHeader('connection', 'close');
    response.setHeader('cache-control', 'no-store');
    if (!isOurs) {
      response.writeHead(404).end();
      return;
    }
    for (const [name, value] of pageHeaders("form-action 'none'; frame-ancestors 'none'"))
      response.setHeader(name, value);
    response.end(PAGE, () => answer.resolve(url.searchParams));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const timer = setTimeout(
    () =>
      answer.reject(
        new CliError('The login in the browser was not completed within 5 minutes', {
          advice: 'Log in again; `platform login --no-browser` works with a browser on another machine.',
        }),
      ),
    WAIT_MS,
  );
  // If the login is aborted, nothing waits for this promise, and its rejection must not end the process.
  answer.promise.catch(() => {});
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    answered: answer.promise,
    close() {
      clearTimeout(timer);
      server.close();
      server.closeAllConnections();
    },
  };
}
