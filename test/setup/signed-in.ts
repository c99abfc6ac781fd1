// The public listeners of a control plane on real sockets, a browser that keeps cookies, and a Git host to sign in at.
import { createApi } from '#control/api/app.ts';
import type { Parts } from '#control/parts.ts';
import { serveApi } from '#control/process/servers.ts';
import type { SignUp } from '#control/process/configuration.ts';
import { createUi } from '#control/sign-in/ui.ts';
import { startControl, type TestControl } from './control.ts';
import { freePort } from './free-port.ts';
import { startGitHost, type TestGitHost } from './git-host.ts';

/** A control plane that people sign in to. */
export interface TestSignIn {
  readonly control: TestControl;
  readonly parts: Parts;
  readonly host: TestGitHost;
  /** Origin of the API, and of the sign-in pages. */
  readonly api: string;
  readonly ui: string;
  browser(): TestBrowser;
  close(): Promise<void>;
}

/** Starts it, with a Git host that knows us. */
export async function startSignIn(signUp: SignUp = 'invited'): Promise<TestSignIn> {
  const [host, apiPort, uiPort] = await Promise.all([startGitHost(), freePort(), freePort()]);
  const api = `http://localhost:${apiPort}`;
  const ui = `http://localhost:${uiPort}`;
  const control = await startControl({
    addresses: { api, ui, domain: 'localhost', protocol: 'http', port: 4001 },
  });
  const gitHost = {
    url: host.url,
    apiUrl: host.apiUrl,
    oauth: { clientId: host.clientId, clientSecret: host.clientSecret },
  };
  const parts: Parts = { ...control.parts, signIn: { ...control.parts.signIn, gitHost, signUp } };
  const app = createApi();
  const listen = (variable: 'API_PORT' | 'UI_PORT', port: number, fetch: (request: Request) => unknown) =>
    serveApi({ variable, port, host: '127.0.0.1', fetch: fetch as (request: Request) => Promise<Response> });
  const servers = await Promise.all([
    listen('API_PORT', apiPort, (request) => app.fetch(request, parts)),
    listen('UI_PORT', uiPort, createUi(parts, app.fetch)),
  ]);
  return {
    control,
    parts,
    host,
    api,
    ui,
    browser: () => new TestBrowser(ui),
    async close() {
      await Promise.all(servers.map((server) => server.close()));
      await control.close();
      await host.close();
    },
  };
}

/** What a page answered. */
export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser without scripts: keeps the cookies of our origin, follows redirects, sends forms with their origin. */
export class TestBrowser {
  readonly cookies = new Map<string, string>();
  readonly #ui: string;

  constructor(ui: string) {
    this.#ui = ui;
  }

  /** Goes to an address, and wherever it leads; where `until` says so, it stays before the redirect. */
  visit(address: string, until?: (location: string) => boolean): Promise<Visit> {
    return this.#send(new URL(address, this.#ui).href, {}, until);
  }

  /** Sends a form of one of our pages. */
  submit(address: string, form: Record<string, string>, until?: (location: string) => boolean): Promise<Visit> {
    const headers = { origin: this.#ui, 'sec-fetch-site': 'same-origin' };
    return this.#send(
      new URL(address, this.#ui).href,
      { method: 'POST', headers, body: new URLSearchParams(form) },
      until,
    );
  }

  /** One request, as given, with the cookies. */
  async request(address: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(address, this.#ui);
    const headers = new Headers(init.headers);
    if (url.origin === this.#ui && this.cookies.size > 0)
      headers.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    if (url.origin === this.#ui) for (const cookie of response.headers.getSetCookie()) this.#keep(cookie);
    return response;
  }

  async #send(first: string, init: RequestInit, until?: (location: string) => boolean): Promise<Visit> {
    let url = first;
    let next = init;
    for (let hops = 0; hops < 10; hops++) {
      const response = await this.request(url, next);
      const location = response.headers.get('location');
      const text = await response.text();
      if (location === null) return { url, status: response.status, headers: response.headers, text };
      url = new URL(location, url).href;
      if (until?.(url) === true) return { url, status: response.status, headers: response.headers, text };
      next = {};
    }
    throw new Error(`Too many redirects, the last to ${url}`);
  }

  #keep(cookie: string): void {
    const [, name, value, attributes] = /^([^=]+)=([^;]*)(.*)$/.exec(cookie)!;
    if (value === '' || /Max-Age=0/.test(attributes!)) this.cookies.delete(name!);
    else this.cookies.set(name!, value!);
  }
}
