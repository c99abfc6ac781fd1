// Address of the sandbox service for a supervisor's engines: elsewhere, by `SANDBOX_URL`.
import { sandboxServiceFrom } from '#core/sandbox/service-address.ts';

/**
 * Variables for engines; none without a service.
 *
 * @throws {Error} as {@link sandboxServiceFrom}.
 */
export function engineSandboxes(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const service = sandboxServiceFrom(environment);
  return service === null ? {} : { ENGINE_SANDBOX_URL: service.url, ENGINE_SANDBOX_TOKEN: service.token };
}
