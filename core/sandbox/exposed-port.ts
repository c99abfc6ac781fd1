// The addresses of exposed ports of sandboxes: `port---<name>.<domain of the platform>`, where the name is random. No
// project and no branch has a host with three hyphens (core/names.ts). Pure; engines and the sandbox service use it.

const LABEL = /^port---([a-z2-7]{16})\./;

/** What a caller of the service says of where ports are visited: `https://*.apps.example.net`. */
export const PORT_ORIGIN_HEADER = 'sandbox-port-origin';

/** Visits of exposed ports at the service: `POST /v1/ports/{name}`, with {@link PortVisit} as arguments. */
export const PORTS_PATH = '/v1/ports/';

/** In each request of a program; people have the token in the address of their first visit. */
export const PORT_TOKEN_HEADER = 'x-platform-port-token';

/** A request to an exposed port, as the service is asked for it. */
export interface PortVisit {
  /** Of the address: `https://port---abc.apps.example.net`. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
  /** Of its body; null: nobody says. */
  readonly bodyBytes: number | null;
}

/** The name in a host; null: it is no exposed port's. */
export function exposedNameOf(host: string): string | null {
  return LABEL.exec(host)?.[1] ?? null;
}

export function isExposedName(name: string): boolean {
  return /^[a-z2-7]{16}$/.test(name);
}

/** @param template as in {@link PORT_ORIGIN_HEADER}. */
export function exposedOrigin(template: string, name: string): string {
  return template.replace('*', `port---${name}`);
}

/** Whether a text is an origin with `*` as its first label. */
export function isPortOrigin(template: unknown): template is string {
  return typeof template === 'string' && /^https?:\/\/\*\.[a-z0-9.-]{1,253}(?::\d{1,5})?$/.test(template);
}
