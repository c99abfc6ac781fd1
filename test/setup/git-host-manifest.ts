// How the test's Git host creates an application from a manifest: its page, which leads back with a code, and the
// exchange of the code for the application's credentials. Written from GitHub's public description.
import { randomBytes } from 'node:crypto';
import type { HostState } from './git-host-state.ts';

const PAGE = /^\/(?:organizations\/([\w-]+)\/)?settings\/apps\/new$/;
const EXCHANGE = /^POST \/app-manifests\/([^/]+)\/conversions$/;

/** Whether a path is that of the page. */
export function isManifestPage(pathname: string): boolean {
  return PAGE.test(pathname);
}

/** Creates the application of a form. @returns where the browser goes */
export function createFromManifest(state: HostState, url: URL, body: string): string {
  const [, organization = null] = PAGE.exec(url.pathname)!;
  const manifest = JSON.parse(new URLSearchParams(body).get('manifest') ?? '') as Record<string, unknown>;
  const code = randomBytes(20).toString('hex');
  state.manifests.set(code, { ...manifest, organization });
  const target = new URL(String(manifest['redirect_url']));
  target.searchParams.set('code', code);
  target.searchParams.set('state', url.searchParams.get('state') ?? '');
  return target.href;
}

/** Answers the exchange; null: another request. */
export function exchangeManifest(state: HostState, place: string): [number, unknown] | null {
  const [, code] = EXCHANGE.exec(place) ?? [];
  if (code === undefined) return null;
  const manifest = state.manifests.get(code);
  if (manifest === undefined) return [404, { message: 'Not Found' }];
  state.manifests.delete(code);
  const { appId, clientId, clientSecret, webhookSecret, privateKey } = state.settings;
  const { url } = manifest;
  const own = { client_id: clientId, client_secret: clientSecret, webhook_secret: webhookSecret, pem: privateKey };
  return [
    201,
    { id: Number(appId), slug: 'platform-test', name: 'Platform', external_url: url, ...own, ...state.created },
  ];
}
