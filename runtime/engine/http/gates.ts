// Gates, which requests to some hosts must pass: previews tell search engines not to index them, and may require a
// password; production may be split between two deployments; and a custom domain may redirect to another one.
// handler.ts calls this only for hosts with a gate.
import { AlteredExchange } from './altered-exchange.ts';
import { cookieValues, withoutSecrets } from './cookies.ts';
import type { Exchange } from './listener.ts';
import { publicOrigin } from './public-origin.ts';
import { BYPASS_NAME, createProtection, type ProtectionDeps } from './preview-protection.ts';
import type { RouteMatch, Route } from '../router/project-routes.ts';

/**
 * Cookie that is set while production is split: a number that a visitor keeps, so that a growing share never moves a
 * visitor back.
 */
const SPLIT_COOKIE = 'platform-split';
const SPLIT_SECONDS = 30 * 24 * 60 * 60;
const PARTS = 10_000;
const NO_INDEX = 'x-robots-tag\0noindex\0';

const withNoIndex = (answer: string): string => answer + NO_INDEX;
const unchanged = (answer: string): string => answer;

/** Dependencies of gates. */
interface GateDeps extends ProtectionDeps {
  /** `PUBLIC_PORT`; null means the port of the request. */
  readonly publicPort: number | null;
  readonly random?: () => number;
}

/** Lets a request pass, or answers it. */
export type PassGate = (
  exchange: Exchange,
  match: RouteMatch,
  serve: (exchange: Exchange, route: Route, match: RouteMatch) => void,
) => void;

export function createGates(deps: GateDeps): PassGate {
  const protection = createProtection(deps);
  const { random = Math.random } = deps;
  return (exchange, match, serve) => {
    const { route, gate } = match;
    if (gate === null) return serve(exchange, route, match);
    if (gate.redirectTo !== null) {
      const [port = ''] = deps.publicPort === null ? (/:\d+$/.exec(exchange.host) ?? []) : [];
      return sendOn(exchange, publicOrigin(deps.protocol, deps.publicPort, gate.redirectTo + port));
    }
    if (gate.split !== null) {
      const { percent, route: other } = gate.split;
      const [kept] = cookieValues(exchange.headerBlock, SPLIT_COOKIE);
      const known = kept !== undefined && /^\d{1,4}$/.test(kept) ? Number(kept) : null;
      const part = known ?? Math.floor(random() * PARTS);
      const chosen = part < percent * (PARTS / 100) ? other : route;
      if (known !== null) return serve(exchange, chosen, match);
      const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${SPLIT_SECONDS}${deps.protocol === 'https' ? '; Secure' : ''}`;
      const cookie = `set-cookie\0${SPLIT_COOKIE}=${part}; ${attributes}\0`;
      return serve(new AlteredExchange(exchange, exchange.headerBlock, (answer) => answer + cookie), chosen, match);
    }
    if (gate.protection !== null && !protection.passes(exchange, gate.project, gate.protection)) return;
    const block = withoutSecrets(exchange.headerBlock, [protection.cookieName], [BYPASS_NAME]);
    serve(new AlteredExchange(exchange, block, gate.isPreview ? withNoIndex : unchanged), route, match);
  };
}

/**
 * Redirects with a status that keeps method and body. A target in absolute form, which only proxies receive, leads to
 * the root path.
 */
function sendOn(exchange: Exchange, origin: string): void {
  const path = exchange.target.startsWith('/') ? exchange.target : '/';
  exchange.send(308, `location\0${origin}${path}\0cache-control\0max-age=300\0`, null);
}
