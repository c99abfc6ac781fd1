// Bindings of the platform for code that runs in Node: in development next to `platform dev`, and in a project whose
// own server runs on the platform. In a worker, the function returns the worker's own `env`.
import { findAddress } from './address.ts';
import { connect } from './env.ts';
import { answerEvents, type EventHandlers } from './events.ts';

export type { EventHandlers } from './events.ts';

declare global {
  /** Extended by the `env.d.ts` that `platform types` writes. */
  interface PlatformEnv {}
}

const ENV = Symbol.for('platform.env');
const CONNECTING = Symbol.for('platform.env.connecting');

/**
 * The `env` of a worker: variables and the bindings of platform.yaml, typed by the project's `env.d.ts`. Created
 * once; later calls return the same object.
 *
 * @throws if there is no platform: neither the variables that `platform dev` sets for the commands it starts, nor a
 * `platform dev` running in this folder or a parent.
 * @example const env = await getPlatformEnv(); const { results } = await env.DB.prepare('SELECT * FROM
 * guests').all();
 */
export async function getPlatformEnv<Env = PlatformEnv>(): Promise<Env> {
  const place = globalThis as { [ENV]?: unknown; [CONNECTING]?: Promise<unknown> };
  if (place[ENV] !== undefined) return place[ENV] as Env;
  place[CONNECTING] ??= connect(findAddress()).then(
    (env) => {
      Object.defineProperty(globalThis, ENV, { value: env, configurable: true, writable: true });
      return env;
    },
    (error: unknown) => {
      // After a failure, the next call connects again.
      delete place[CONNECTING];
      throw error;
    },
  );
  return (await place[CONNECTING]) as Env;
}

/**
 * The route for the project's messages, timers, schedules and workflows: the platform posts each to
 * `/__platform/message`, `timer`, `scheduled` or `workflow` of the app, with a token that the route checks.
 *
 * @returns the handler of that route.
 * @example // Next.js: app/%5F%5Fplatform/[event]/route.ts export const POST = createEventRoute({ message: ({ payload
 * }) => console.log(payload) });
 */
export function createEventRoute<Env = PlatformEnv>(
  handlers: EventHandlers<Env>,
): (request: Request) => Promise<Response> {
  // The token is read for each request, because no platform may be available when the program is built.
  return (request) => {
    const token = process.env['PLATFORM_APP_TOKEN'] ?? findAddress().token;
    return answerEvents(handlers, () => getPlatformEnv<Env>(), token)(request);
  };
}
