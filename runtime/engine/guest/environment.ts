// `env`, the second argument of a handler: variables and bindings.
import { loadBinding } from './lazy.ts';
import { createFetcher } from './web/fetch.ts';

/** A deployment's environment from the host. */
export interface EnvironmentConfig {
  readonly vars: Readonly<Record<string, string>>;
  /**
   * The module of bindings/ for each binding name. `assets` stands for the static files; null means that this platform
   * does not know the kind.
   */
  readonly bindings: Readonly<Record<string, string | null>>;
}

/** `env.vars.KEY` for every variable; also `env.KEY` unless a binding has that name. */
export function createEnvironment(config: EnvironmentConfig): Record<string, unknown> {
  const env: Record<string, unknown> = Object.assign(Object.create(null), config.vars);
  env['vars'] = Object.assign(Object.create(null), config.vars);
  for (const [name, module] of Object.entries(config.bindings)) {
    if (module === 'assets') env[name] = createFetcher('assets.fetch', {});
    else if (module !== null) defineBinding(env, name, module);
    else env[name] = notBuiltYet(name);
  }
  // Read by the `cloudflare:workers` shim as its `env`.
  Object.defineProperty(globalThis, Symbol.for('platform.env'), { value: env, configurable: true, writable: true });
  // Read by the node:process shim as its variables.
  Object.defineProperty(globalThis, Symbol.for('platform.env.vars'), {
    value: env['vars'],
    configurable: true,
    writable: true,
  });
  return env;
}

/**
 * A binding is created when it is first read, because most invocations use few bindings, and its module must be
 * fetched.
 */
function defineBinding(env: object, name: string, module: string): void {
  const define = (value: unknown): void => {
    Object.defineProperty(env, name, { value, enumerable: true, configurable: true, writable: true });
  };
  Object.defineProperty(env, name, {
    get() {
      const binding = loadBinding(module).create(name);
      define(binding);
      return binding;
    },
    set: define,
    enumerable: true,
    configurable: true,
  });
}

function notBuiltYet(name: string): unknown {
  return new Proxy(Object.freeze({}), {
    get(_target, property) {
      if (typeof property === 'symbol' || property === 'then') return undefined;
      throw new Error(
        `env.${name}.${property} is not available: this version of the platform does not support the kind of ${name}`,
      );
    },
  });
}
