// `BUILD_EXECUTOR`: where builds run. Read by the supervisor, which refuses an invalid value when it starts, and by the
// builder. Pure.
import { isMachineSize, MACHINE_SIZES, type MachineSize } from './options.ts';

/** Settings for builds in sandboxes of the sandbox service. */
export interface SandboxExecutor {
  /** `SANDBOX_URL` and `SANDBOX_AUTH_TOKEN`. */
  readonly url: string;
  readonly token: string;
  /**
   * `BUILD_EXECUTOR_ORGANIZATIONS`: the organizations whose builds run in sandboxes; null means all. Builds of other
   * organizations run on the builder's machine.
   */
  readonly organizations: ReadonlySet<string> | null;
  /** `BUILD_SANDBOX_MACHINE_TYPE`, the default for organizations; null means the default of sandboxes. */
  readonly machine: MachineSize | null;
}

const TOKEN_CHARS_MIN = 32;

/**
 * @returns null if builds run on the builder's machine.
 * @throws {Error} naming the variable and valid values; never the value of a secret.
 */
export function buildExecutor(environment: Readonly<Record<string, string | undefined>>): SandboxExecutor | null {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const executor = get('BUILD_EXECUTOR');
  if (executor === '' || executor === 'local') return null;
  if (executor !== 'sandbox') throw new Error(`BUILD_EXECUTOR is "${executor}": it must be local or sandbox`);
  const wants = (name: string, what: string): Error => new Error(`BUILD_EXECUTOR=sandbox: ${name} ${what}`);
  const url = get('SANDBOX_URL');
  if (!/^https?:\/\/[^/?#@\s]+\/?$/.test(url) || !URL.canParse(url))
    throw wants('SANDBOX_URL', 'must be the address of the sandbox service, such as http://127.0.0.1:4006');
  const token = get('SANDBOX_AUTH_TOKEN');
  if (token.length < TOKEN_CHARS_MIN || !/^[\x21-\x7e]+$/.test(token))
    throw wants(
      'SANDBOX_AUTH_TOKEN',
      `must have at least ${TOKEN_CHARS_MIN} visible ASCII characters, the same as the sandbox service has`,
    );
  const isHosted = get('SANDBOX_PROVIDER') === 'hosted';
  if (!isHosted && get('SANDBOX_NETWORK_ISOLATION') !== 'true')
    throw wants(
      'SANDBOX_NETWORK_ISOLATION',
      'must be true: builds must run in sandboxes without access to your network',
    );
  const machine = get('BUILD_SANDBOX_MACHINE_TYPE');
  if (machine !== '' && !isMachineSize(machine))
    throw wants('BUILD_SANDBOX_MACHINE_TYPE', `is "${machine}": it must be one of ${MACHINE_SIZES.join(', ')}`);
  const organizations = get('BUILD_EXECUTOR_ORGANIZATIONS')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
  return {
    url: new URL(url).origin,
    token,
    organizations: organizations.length === 0 ? null : new Set(organizations),
    machine: machine === '' ? null : machine,
  };
}
