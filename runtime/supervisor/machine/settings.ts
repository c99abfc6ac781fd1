// Name and address of this machine for the other machines: MACHINE_NAME, MACHINE_ADDRESS, validated. Pure.
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { encryptionKeys } from '#core/encryption.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of this machine. */
export interface MachineSettings {
  readonly name: string;
  /** Whether MACHINE_NAME is set. */
  readonly isNameChosen: boolean;
  /** Host by which other machines reach this machine, with brackets for IPv6; null if they do not connect to it. */
  readonly address: string | null;
}

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;
const EVERYWHERE = new Set(['0.0.0.0', '::']);

/**
 * Parses the settings.
 *
 * @param listens addresses that the private port and, if it runs here, the handler listen on, by variable.
 * @throws {Error} naming the variable, its value and valid values.
 */
export function machineSettings(
  environment: Environment,
  listens: Readonly<Record<string, string>>,
  ownName: string = hostname(),
): MachineSettings {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const chosen = get('MACHINE_NAME');
  if (chosen !== '' && !NAME.test(chosen))
    throw new Error(
      `MACHINE_NAME is "${chosen}": it must have at most 63 lower-case letters, digits and hyphens, such as m1`,
    );
  const given = get('MACHINE_ADDRESS').replace(/^\[(.*)\]$/, '$1');
  if (given !== '' && isIP(given) === 0 && !HOST_NAME.test(given))
    throw new Error(
      `MACHINE_ADDRESS is "${given}": it must be the IP address or name by which other machines reach this one, without a port`,
    );
  if (given !== '' && !isLoopback(given))
    for (const [variable, host] of Object.entries(listens))
      if (isLoopback(host))
        throw new Error(
          `MACHINE_ADDRESS is ${given}, but ${variable} is ${host}, where other machines reach nothing: set ${variable} to ${given} or 0.0.0.0`,
        );
  const hosts = Object.values(listens);
  const host = hosts.find((one) => isIP(one) !== 0 && !isLoopback(one) && !EVERYWHERE.has(one)) ?? '';
  // If all parts listen on one address, no variable is needed.
  const found = given !== '' ? given : hosts.every((one) => one === host || EVERYWHERE.has(one)) ? host : '';
  return {
    name: chosen === '' ? nameOf(ownName) : chosen,
    isNameChosen: chosen !== '',
    address: found === '' ? null : isIP(found) === 6 ? `[${found}]` : found.toLowerCase(),
  };
}

/** Hex ids of the keys in ENCRYPTION_KEY; none if it is not set or invalid. */
export function keyIdsOf(text: string): string[] {
  try {
    return encryptionKeys(text).all.map(({ id }) => id.toString('hex'));
  } catch {
    return [];
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function nameOf(text: string): string {
  const plain = text
    .toLowerCase()
    .split('.', 1)[0]!
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'machine' : plain;
}
