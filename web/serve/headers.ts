// The headers that protect the pages of a site. Pure.

/** Sources beside those every page has, by directive. */
type Sources = Readonly<Record<string, readonly string[]>>;

const BASE: Sources = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'manifest-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Directives that a site can add sources to: none that lets others frame it or run what they like. */
const OPEN = new Set(
  'script-src style-src style-src-attr img-src worker-src require-trusted-types-for trusted-types'.split(' '),
);

/** Two years. Not of hosts below this one, which may be of others. */
const HSTS = 'max-age=63072000';

/**
 * @param more sources of the site itself, such as the hash of a script in its pages.
 * @throws {Error} for a directive that nobody adds to.
 * @example contentSecurityPolicy({ 'script-src': ["'sha256-...'"] })
 */
export function contentSecurityPolicy(more: Sources): string {
  const all: Record<string, readonly string[]> = { ...BASE };
  for (const [directive, sources] of Object.entries(more)) {
    if (!OPEN.has(directive)) throw new Error(`A site adds no sources to ${directive}`);
    all[directive] = [...(all[directive] ?? []), ...sources];
  }
  return Object.entries(all)
    .map(([directive, sources]) => `${directive} ${sources.join(' ')}`)
    .join('; ');
}

/**
 * Headers of everything that a site answers with.
 *
 * @param isHttps whether people reach it over https: then browsers are to come by no other way.
 */
export function siteHeaders(policy: Sources, isHttps: boolean): Readonly<Record<string, string>> {
  return {
    'content-security-policy': contentSecurityPolicy(policy),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // With `no-referrer`, forms would be sent without their origin, and sign-in takes none of those.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(isHttps && { 'strict-transport-security': HSTS }),
  };
}
