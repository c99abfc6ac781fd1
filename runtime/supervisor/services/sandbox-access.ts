// Address of a sandbox service that runs elsewhere, from `SANDBOX_URL`, for the engines of a supervisor.
import { sandboxServiceFrom } from '#core/sandbox/service-address.ts';

/**
 * Variables for engines; empty without a sandbox service.
 *
 * @throws {Error} as {@link sandboxServiceFrom}.
 */
export function engineSandboxes(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const service = sandboxServiceFrom(environment);
  return service === null ? {} : { ENGINE_SANDBOX_URL: service.url, ENGINE_SANDBOX_TOKEN: service.token };
}
