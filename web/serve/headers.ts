// Security headers of a site. Pure.

/** Additional CSP sources by directive. */
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

/** Directives that a site may extend; excludes framing and the like. */
const OPEN = new Set(
  'script-src style-src style-src-attr img-src worker-src require-trusted-types-for trusted-types'.split(' '),
);

/** Two years. No includeSubDomains: subdomains may belong to others. */
const HSTS = 'max-age=63072000';

/**
 * @param more sources of the site, such as hashes of inline scripts.
 * @throws {Error} for a directive that cannot be extended.
 * @example contentSecurityPolicy({ 'script-src': ["'sha256-...'"] })
 */
function contentSecurityPolicy(more: Sources): string {
  const all: Record<string, readonly string[]> = { ...BASE };
  for (const [directive, sources] of Object.entries(more)) {
    if (!OPEN.has(directive)) throw new Error(`A site cannot add sources to ${directive}`);
    all[directive] = [...(all[directive] ?? []), ...sources];
  }
  return Object.entries(all)
    .map(([directive, sources]) => `${directive} ${sources.join(' ')}`)
    .join('; ');
}

/**
 * Headers of all responses of a site.
 *
 * @param isHttps whether the site is served over https, which adds HSTS.
 */
export function siteHeaders(policy: Sources, isHttps: boolean): Readonly<Record<string, string>> {
  return {
    'content-security-policy': contentSecurityPolicy(policy),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // `no-referrer` would remove the Origin of forms, which sign-in requires.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(isHttps && { 'strict-transport-security': HSTS }),
  };
}
