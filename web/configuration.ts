// Configuration of the web process from its environment, validated once; one error reports all problems.
import { limitsFrom, type WebLimits } from '#core/limits.ts';
import { parsePort } from '#core/parse-integer.ts';
import { secretProblem } from '#core/process/generated-secrets.ts';
import type { ApiAddress } from './serve/api-proxy.ts';

/** Settings of the web process. */
interface Configuration {
  /** `WEB_HOST`, else `API_HOST`: the interface of both ports. */
  readonly host: string;
  /** `UI_PORT`: the dashboard and `/api/`; null means off. */
  readonly ui: { readonly port: number; readonly api: ApiAddress; readonly token: string } | null;
  /**
   * `DOCS_PORT`; null: off. If the default port is in use, the documentation is not served. `url`: `DOCS_URL`, or
   * empty.
   */
  readonly docs: { readonly port: number; readonly isGiven: boolean; readonly url: string } | null;
  /** Whether the dashboard (`AUTH_URL`) and the documentation (`DOCS_URL`) are served over https. */
  readonly isHttps: { readonly ui: boolean; readonly docs: boolean };
  readonly limits: WebLimits;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {Error} with a line per problem. */
export function readConfiguration(environment: Environment): Configuration {
  const problems: string[] = [];
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const checked = <Value>(read: () => Value, otherwise: Value): Value => {
    try {
      return read();
    } catch (error) {
      problems.push((error as Error).message);
      return otherwise;
    }
  };
  const portOf = (name: string, otherwise: number): number | null => {
    if (get(name).toLowerCase() === 'off') return null;
    return get(name) === '' ? otherwise : checked(() => parsePort(name, get(name)), otherwise);
  };
  const [uiPort, docsPort] = [portOf('UI_PORT', 3002), portOf('DOCS_PORT', 3005)];
  const api = uiPort === null ? null : checked(() => apiAddress(get('WEB_API_URL')), null);
  const weak = uiPort === null ? null : secretProblem('WEB_TOKEN', get('WEB_TOKEN'));
  if (weak !== null) problems.push(weak);
  if (uiPort === null && docsPort === null)
    problems.push('UI_PORT and DOCS_PORT are both off: there is nothing to serve');
  const limits = checked(() => limitsFrom(environment).web, null);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return {
    host: get('WEB_HOST') || get('API_HOST') || '127.0.0.1',
    ui: uiPort === null ? null : { port: uiPort, api: api!, token: get('WEB_TOKEN') },
    docs: docsPort === null ? null : { port: docsPort, isGiven: get('DOCS_PORT') !== '', url: get('DOCS_URL') },
    isHttps: { ui: get('AUTH_URL').startsWith('https:'), docs: get('DOCS_URL').startsWith('https:') },
    limits: limits!,
  };
}

/** @example apiAddress('http://api:4003') // { host: 'api', port: 4003 } */
function apiAddress(text: string): ApiAddress {
  if (text.startsWith('unix:/')) return { socketPath: text.slice('unix:'.length) };
  const url = URL.parse(text);
  if (url?.protocol === 'http:' && url.pathname === '/' && url.port !== '')
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) };
  throw new Error(
    'WEB_API_URL must be the address at which the API listens for this process (its API_WEB_LISTEN), such as http://api:4003 or unix:/run/platform/api',
  );
}
