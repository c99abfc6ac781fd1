// Skew protection: what a page asks for goes to the deployment that served the page, for a while after another one took
// its place. Says which deployment a request is for, and what its answer carries; called by handler.ts for hosts that
// lead to one deployment after another. Only who has been live on the same host can be asked for.
import { isDeploymentId } from '#core/names.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { assetDecision, decodedPath, isHashedName, isNavigation, type AssetRequest } from '../assets/asset-rules.ts';
import type { Other, Route } from '../router/project-routes.ts';
import { AlteredExchange } from './altered-exchange.ts';
import { cookieIn } from './cookies.ts';
import type { Exchange } from './listener.ts';

/** Says it for programs, and for pages that know theirs; goes before the query and the cookie. */
const HEADER = 'x-deployment-id';
/** Of the page that was loaded last in this browser. */
const COOKIE = '__dpl';
/** Of these no shared cache may go by, where an address alone does not say whose answer it is. */
const CACHE_HEADERS = [
  'cache-control',
  'expires',
  'cdn-cache-control',
  'cloudflare-cdn-cache-control',
  'surrogate-control',
];

/** What is to be done for a request instead of what its host says. */
export interface Aim {
  /** Whose request it is. */
  readonly route: Route;
  /** The same request, with what its answer is to carry. */
  readonly exchange: Exchange;
  /** Has the file that is asked for, unlike that deployment; null: none has, or it has it itself. */
  readonly file: OpenArtifact | null;
}

/** What it needs. */
interface SkewProtectionParts {
  /** How long pages of a deployment that was replaced are served by it. */
  readonly windowMs: number;
  readonly protocol: 'http' | 'https';
  /** @throws {PlatformError} */
  readonly openArtifact: (id: string) => OpenArtifact;
  readonly now?: () => number;
}

/** Null: the host says it. @param live what the host leads to, of which `artifact` is opened. */
type AimRequest = (exchange: Exchange, live: Route, artifact: OpenArtifact, others: readonly Other[]) => Aim | null;

export function createSkewProtection(parts: SkewProtectionParts): AimRequest {
  const { now = Date.now, windowMs } = parts;
  const cookieEnd = `; Path=/; HttpOnly; SameSite=Lax${parts.protocol === 'https' ? '; Secure' : ''}\0`;

  /** Opts out, or is gone: null. */
  function openProtected(route: Route): OpenArtifact | null {
    try {
      const artifact = parts.openArtifact(route.artifact);
      return artifact.manifest.skewProtection ? artifact : null;
    } catch {
      return null;
    }
  }

  function holderOf(exchange: Exchange, own: OpenArtifact, routes: () => Iterable<Route>): OpenArtifact | null {
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return null;
    const path = decodedPath(exchange.target);
    if (path === null) return null;
    const key = path.slice(1);
    const { assets } = own.manifest;
    // Most requests end with these two.
    if ((assets !== null && Object.hasOwn(assets.files, key)) || !isContentName(path)) return null;
    // A worker that comes before files decides who gets them.
    if (assets !== null && assetDecision(assets, exchange) === 'worker') return null;
    for (const route of routes()) {
      const artifact = openProtected(route);
      const rules = artifact?.manifest.assets ?? null;
      if (rules !== null && Object.hasOwn(rules.files, key) && assetDecision(rules, exchange) === 'asset')
        return artifact;
    }
    return null;
  }

  return (exchange, live, artifact, others) => {
    if (windowMs === 0 || !artifact.manifest.skewProtection) return null;
    const asked = askedOf(exchange);
    if (asked === DOCUMENT) {
      const cookie = `set-cookie\0${COOKIE}=${live.deployment}${cookieEnd}`;
      const told = new AlteredExchange(exchange, exchange.headerBlock, (block) => block + cookie);
      return { route: live, exchange: told, file: null };
    }
    if (others.length === 0) return null;
    const since = now() - windowMs;
    const isOpen = ({ supersededAt }: Other): boolean => supersededAt > since;
    const found =
      asked === null || asked.deployment === live.deployment
        ? undefined
        : others.find((other) => other.route.deployment === asked.deployment && isOpen(other))?.route;
    const own = found === undefined ? artifact : openProtected(found);
    const route = found === undefined || own === null ? live : found;
    const file = holderOf(exchange, own ?? artifact, () => [
      live,
      ...others.filter(isOpen).map((other) => other.route),
    ]);
    if (route === live) return file === null ? null : { route, exchange, file };
    if (asked?.isInTarget === true) return { route, exchange, file };
    return { route, exchange: new AlteredExchange(exchange, exchange.headerBlock, forOnePage), file };
  };
}

/** Whose a request is. */
interface Asked {
  readonly deployment: string;
  /** Its address says it, so that no cache takes its answer for another one's. */
  readonly isInTarget: boolean;
}

/** A page of its own is asked for: that is what is live. */
const DOCUMENT: Asked = { deployment: '', isInTarget: false };

/** Of a header, the query `dpl` or the cookie, the first that says it; null: none does. */
export function askedOf(request: AssetRequest): Asked | null {
  const dest = request.header('sec-fetch-dest');
  const isPage = isDocument(request, dest);
  // One that the browser fetches ahead is of the page that has it fetched.
  if (isPage && request.header('sec-purpose') === null) return DOCUMENT;
  const named = request.header(HEADER);
  if (named !== null && isDeploymentId(named)) return { deployment: named, isInTarget: false };
  const inTarget = request.target.includes('dpl=') ? /[?&]dpl=(d[0-9a-z]{12})(?:[&#]|$)/.exec(request.target) : null;
  if (inTarget !== null) return { deployment: inTarget[1]!, isInTarget: true };
  const cookies = request.header('cookie');
  const kept = cookies === null ? null : cookieIn(cookies, COOKIE);
  if (kept !== null && isDeploymentId(kept) && isOfPage(request, dest)) return { deployment: kept, isInTarget: false };
  return isPage ? DOCUMENT : null;
}

/** Neither a frame in a page nor a form that a page sends: those are of that page. */
function isDocument(request: AssetRequest, dest: string | null): boolean {
  if (request.method !== 'GET') return false;
  return dest === null ? isNavigation(request) : dest === 'document';
}

/** Whether the page that the cookie tells of made it: no other site, no socket, no update of a service worker. */
function isOfPage(request: AssetRequest, dest: string | null): boolean {
  const site = request.header('sec-fetch-site');
  return (site === null || site === 'same-origin') && dest !== 'serviceworker' && request.header('upgrade') === null;
}

/**
 * Whether a path is of a file that a bundler named by its content, so that it is the same whoever has it. Unlike for
 * caches, names count that only look so.
 */
export function isContentName(path: string): boolean {
  if (isHashedName(path)) return true;
  const [, token = ''] =
    /[.-]([\w-]{8,64})\.(?:m?js|css|wasm|json|map|woff2?|ttf|svg|png|jpe?g|webp|avif|gif|ico)$/.exec(path) ?? [];
  const last = token.slice(-8);
  return path.includes('/', 1) && /[A-Z]/.test(last) && /[a-z]/.test(last);
}

/** The header block of an answer that no shared cache may keep: it would give it to pages of other deployments. */
function forOnePage(block: string): string {
  if (/(?:^|\0)cache-control\0[^\0]*(?:private|no-store|immutable)/.test(block)) return block;
  const fields = block.split('\0');
  let kept = '';
  for (let at = 0; at + 1 < fields.length; at += 2)
    if (!CACHE_HEADERS.includes(fields[at]!)) kept += `${fields[at]}\0${fields[at + 1]}\0`;
  return `${kept}cache-control\0private, no-cache\0`;
}
