// The public listeners of a control plane on real sockets, its pages behind the web process's hop; a browser that keeps
// cookies, and a Git host to sign in at.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OidcProvider } from '#control/access/oidc/provider.ts';
import { createClientAddress } from '#control/http/client-address.ts';
import { createApi } from '#control/api/app.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { gitHostPages } from '#control/git-host/pages.ts';
import { liveGit } from '#control/process/live-git.ts';
import { serveApi } from '#control/process/servers.ts';
import type { SignUp } from '#control/process/configuration.ts';
import { behindWeb, webClient } from '#control/process/web-proxy.ts';
import { withLiveSettings } from '#control/sign-in/open.ts';
import { createUi } from '#control/sign-in/ui.ts';
import { gitConfigurationFrom } from '#git/configuration.ts';
import { defaultLimits, type WebLimits } from '#core/limits.ts';
import { listen } from '#web/serve/listener.ts';
import { createApiProxy } from '#web/serve/api-proxy.ts';
import { startControl, type TestControl } from './control.ts';
import { freePort } from './free-port.ts';
import { startGitHost, type TestGitHost } from './git-host.ts';

/** A control plane that people sign in to. */
export interface TestSignIn {
  readonly control: TestControl;
  readonly deps: Dependencies;
  /** Those of the sign-in pages. */
  readonly forPages: Dependencies;
  readonly host: TestGitHost;
  /** Origin of the API, and of the sign-in pages. */
  readonly api: string;
  readonly ui: string;
  browser(): TestBrowser;
  close(): Promise<void>;
}

/** Starts it, with a Git host that knows us. */
export async function startSignIn(
  signUp: SignUp = 'invited',
  {
    trustedProxies = [],
    limits = {},
    oidc = () => null,
    isHostKnown = true,
  }: {
    trustedProxies?: readonly string[];
    limits?: Partial<WebLimits>;
    /** Whether variables name the Git host; otherwise an operator may create an application there. */
    isHostKnown?: boolean;
    /** Makes the OpenID Connect provider, which redirects to pages of `ui`. */
    oidc?: (ui: string) => OidcProvider | null | Promise<OidcProvider | null>;
  } = {},
): Promise<TestSignIn> {
  const [host, apiPort, uiPort] = await Promise.all([startGitHost(), freePort(), freePort()]);
  const folder = mkdtempSync(join(tmpdir(), 'platform-signed-in-'));
  const socketPath = join(folder, 'api');
  const token = randomBytes(32).toString('hex');
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
  const { settings } = control.deps;
  const known = { ...control.deps.signIn, gitHost, oidc: await oidc(ui), signUp };
  const deps: Dependencies = {
    ...control.deps,
    git: liveGit(gitConfigurationFrom({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1' }), settings),
    signIn: isHostKnown ? known : withLiveSettings(control.deps.signIn, settings),
  };
  const app = createApi();
  const forPages: Dependencies = { ...deps, clientAddress: createClientAddress(trustedProxies, webClient) };
  const apiProxy = createApiProxy({
    api: { socketPath },
    token,
    limits: { ...defaultLimits.web, ...limits },
    log: deps.log,
  });
  const servers = await Promise.all([
    serveApi({ host: '127.0.0.1', port: apiPort, fetch: (request) => app.fetch(request, deps) }),
    serveApi({ socket: socketPath, fetch: behindWeb(token, createUi(forPages, app.fetch, gitHostPages)) }),
    listen({
      host: '127.0.0.1',
      port: uiPort,
      variable: 'UI_PORT',
      log: deps.log,
      // Of the dashboard there is only its address here.
      async answer(request, response, path) {
        if (path.startsWith('/api/')) apiProxy(request, response);
        else response.end('the dashboard');
      },
    }),
  ]);
  return {
    control,
    deps,
    forPages,
    host,
    api,
    ui,
    browser: () => new TestBrowser(ui),
    async close() {
      apiProxy.close();
      await Promise.all(servers.map((server) => server.close()));
      rmSync(folder, { recursive: true, force: true });
      await control.close();
      await host.close();
    },
  };
}

/** What a page answered. */
interface Visit {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser without scripts: keeps cookies by origin, follows redirects, sends forms with their origin. */
export class TestBrowser {
  /** Those of our origin. */
  readonly cookies = new Map<string, string>();
  readonly #others = new Map<string, Map<string, string>>();
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
    const cookies =
      url.origin === this.#ui ? this.cookies : (this.#others.get(url.origin) ?? new Map<string, string>());
    this.#others.set(url.origin, cookies);
    if (cookies.size > 0) headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) keepCookie(cookies, cookie);
    return response;
  }

  async #send(first: string, init: RequestInit, until?: (location: string) => boolean): Promise<Visit> {
    let url = first;
    let next = init;
    for (let hops = 0; hops < 10; hops++) {
      const response = await this.request(url, next);
      const refresh = /^0;url=(.*)$/.exec(response.headers.get('refresh') ?? '')?.[1];
      const location = response.headers.get('location') ?? refresh ?? null;
      const text = await response.text();
      if (location === null) return { url, status: response.status, headers: response.headers, text };
      url = new URL(location, url).href;
      if (until?.(url) === true) return { url, status: response.status, headers: response.headers, text };
      next = {};
    }
    throw new Error(`Too many redirects, the last to ${url}`);
  }
}

function keepCookie(cookies: Map<string, string>, cookie: string): void {
  const [, name, value, attributes] = /^([^=]+)=([^;]*)(.*)$/.exec(cookie)!;
  if (value === '' || /Max-Age=0/.test(attributes!)) cookies.delete(name!);
  else cookies.set(name!, value!);
}
