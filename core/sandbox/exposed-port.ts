// URLs of exposed ports of sandboxes: `port---<name>.<domain of the platform>`, with a random name. No project or
// branch has a host with three hyphens (core/names.ts). Pure; used by engines and the sandbox service.

const LABEL = /^port---([a-z2-7]{16})\./;

/** Header with the origin of exposed ports, which the caller of the service sets: `https://*.apps.example.net`. */
export const PORT_ORIGIN_HEADER = 'sandbox-port-origin';

/** Requests to exposed ports at the service: `POST /v1/ports/{name}`, with {@link PortVisit} as arguments. */
export const PORTS_PATH = '/v1/ports/';

/**
 * Header in which programs send the token with each request. For browsers, the URL of the first visit contains the
 * token.
 */
export const PORT_TOKEN_HEADER = 'x-platform-port-token';

/** A request to an exposed port, as sent to the service. */
export interface PortVisit {
  /** Origin of the URL: `https://port---abc.apps.example.net`. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
  /** Length of the request's body; null if unknown. */
  readonly bodyBytes: number | null;
}

/** The name in a host; null means it is not an exposed port. */
export function exposedNameOf(host: string): string | null {
  return LABEL.exec(host)?.[1] ?? null;
}

export function isExposedName(name: string): boolean {
  return /^[a-z2-7]{16}$/.test(name);
}

/** @param template the template, as in {@link PORT_ORIGIN_HEADER}. */
export function exposedOrigin(template: string, name: string): string {
  return template.replace('*', `port---${name}`);
}

/** Whether a text is an origin with `*` as its first label. */
export function isPortOrigin(template: unknown): template is string {
  return typeof template === 'string' && /^https?:\/\/\*\.[a-z0-9.-]{1,253}(?::\d{1,5})?$/.test(template);
}
