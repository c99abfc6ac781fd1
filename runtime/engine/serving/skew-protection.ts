// Skew protection: for a limited time after a new deployment, requests of a page go to the deployment that served the
// page. Determines the deployment for a request and the headers of its response. handler.ts calls it for hosts that
// serve changing deployments. Only deployments that were live on the same host can be selected.
import { isDeploymentId } from '#core/names.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { assetDecision, decodedPath, isHashedName, isNavigation, type AssetRequest } from '../assets/asset-rules.ts';
import type { Other, Route } from '../router/project-routes.ts';
import { AlteredExchange } from '../http/altered-exchange.ts';
import { cookieIn } from '../http/cookies.ts';
import type { Exchange } from '../http/listener.ts';

/**
 * Header that selects the deployment, for programs and for pages that know their deployment. It takes precedence over
 * query and cookie.
 */
const HEADER = 'x-deployment-id';
/** Cookie with the deployment of the page that was last loaded in this browser. */
const COOKIE = '__dpl';
/** Headers for shared caches, which are removed if the URL alone does not identify the deployment. */
const CACHE_HEADERS = [
  'cache-control',
  'expires',
  'cdn-cache-control',
  'cloudflare-cdn-cache-control',
  'surrogate-control',
];

/** Replaces the host's default choice for a request. */
export interface PinnedTarget {
  /** The route that serves the request. */
  readonly route: Route;
  /** The same request, whose response gets additional headers. */
  readonly exchange: Exchange;
  /**
   * An artifact with the requested file, if that deployment does not have the file; null if no artifact has it, or the
   * deployment itself has it.
   */
  readonly file: OpenArtifact | null;
}

/** Dependencies. */
interface SkewProtectionDeps {
  /** How long a replaced deployment continues to serve its pages. */
  readonly windowMs: number;
  readonly protocol: 'http' | 'https';
  /** @throws {PlatformError} */
  readonly openArtifact: (id: string) => OpenArtifact;
  readonly now?: () => number;
}

/**
 * The choice for a request; null if the host decides. @param live the route of the host, whose open artifact is
 * `artifact`.
 */
type FindPinnedTarget = (
  exchange: Exchange,
  live: Route,
  artifact: OpenArtifact,
  others: readonly Other[],
) => PinnedTarget | null;

export function createSkewProtection(deps: SkewProtectionDeps): FindPinnedTarget {
  const { now = Date.now, windowMs } = deps;
  const cookieEnd = `; Path=/; HttpOnly; SameSite=Lax${deps.protocol === 'https' ? '; Secure' : ''}\0`;

  /** Null if the project has disabled skew protection, or the artifact no longer exists. */
  function openProtected(route: Route): OpenArtifact | null {
    try {
      const artifact = deps.openArtifact(route.artifact);
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
    // Most requests end at these two checks.
    if ((assets !== null && Object.hasOwn(assets.files, key)) || !isContentName(path)) return null;
    // If a worker runs before files, it decides which file a request gets.
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
    const requested = requestedDeployment(exchange);
    if (requested === DOCUMENT) {
      const cookie = `set-cookie\0${COOKIE}=${live.deployment}${cookieEnd}`;
      const told = new AlteredExchange(exchange, exchange.headerBlock, (block) => block + cookie);
      return { route: live, exchange: told, file: null };
    }
    if (others.length === 0) return null;
    const since = now() - windowMs;
    const isOpen = ({ supersededAt }: Other): boolean => supersededAt > since;
    const found =
      requested === null || requested.deployment === live.deployment
        ? undefined
        : others.find((other) => other.route.deployment === requested.deployment && isOpen(other))?.route;
    const own = found === undefined ? artifact : openProtected(found);
    const route = found === undefined || own === null ? live : found;
    const file = holderOf(exchange, own ?? artifact, () => [
      live,
      ...others.filter(isOpen).map((other) => other.route),
    ]);
    if (route === live) return file === null ? null : { route, exchange, file };
    if (requested?.isInTarget === true) return { route, exchange, file };
    return { route, exchange: new AlteredExchange(exchange, exchange.headerBlock, forOnePage), file };
  };
}

/** The deployment that a request selects. */
interface RequestedDeployment {
  readonly deployment: string;
  /** Whether the URL names the deployment, so that caches distinguish it from other deployments. */
  readonly isInTarget: boolean;
}

/** A navigation always gets the live deployment. */
const DOCUMENT: RequestedDeployment = { deployment: '', isInTarget: false };

/** Reads the header, the query `dpl` and the cookie, in this order; null if none of them names a deployment. */
export function requestedDeployment(request: AssetRequest): RequestedDeployment | null {
  const dest = request.header('sec-fetch-dest');
  const isPage = isDocument(request, dest);
  // A prefetched page belongs to the page that prefetches it.
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

/** Whether a request is a top-level navigation: frames and form submissions belong to their page. */
function isDocument(request: AssetRequest, dest: string | null): boolean {
  if (request.method !== 'GET') return false;
  return dest === null ? isNavigation(request) : dest === 'document';
}

/**
 * Whether the page in the cookie made the request, and not another site, a socket, or an update of a service worker.
 */
function isOfPage(request: AssetRequest, dest: string | null): boolean {
  const site = request.header('sec-fetch-site');
  return (site === null || site === 'same-origin') && dest !== 'serviceworker' && request.header('upgrade') === null;
}

/**
 * Whether a bundler named the file by its content, so that it is the same in every deployment. In contrast to caching,
 * names that only look hashed are included.
 */
export function isContentName(path: string): boolean {
  if (isHashedName(path)) return true;
  const [, token = ''] =
    /[.-]([\w-]{8,64})\.(?:m?js|css|wasm|json|map|woff2?|ttf|svg|png|jpe?g|webp|avif|gif|ico)$/.exec(path) ?? [];
  const last = token.slice(-8);
  return path.includes('/', 1) && /[A-Z]/.test(last) && /[a-z]/.test(last);
}

/**
 * The header block of a response that no shared cache may store, since it would serve it to pages of other
 * deployments.
 */
function forOnePage(block: string): string {
  if (/(?:^|\0)cache-control\0[^\0]*(?:private|no-store|immutable)/.test(block)) return block;
  const fields = block.split('\0');
  let kept = '';
  for (let at = 0; at + 1 < fields.length; at += 2)
    if (!CACHE_HEADERS.includes(fields[at]!)) kept += `${fields[at]}\0${fields[at + 1]}\0`;
  return `${kept}cache-control\0private, no-cache\0`;
}
