// Exposed ports of sandboxes, which have their own URL: exposes, unexposes and lists them. Rows store the ports; a
// port's token is derived from its name and not stored.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import { toExposeArguments, toPort, type Fields } from '#core/sandbox/arguments.ts';
import { exposedOrigin, isPortOrigin, PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { type PortOperation, type SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxOptionsChange } from '#core/sandbox/options.ts';
import type { Sandboxes } from './held-sandboxes.ts';

/** An exposed port of a sandbox. */
export interface ExposedPort {
  /** The name in the port's host: random and never reused. */
  readonly name: string;
  readonly port: number;
  /** Label that the worker gave the port, or null. */
  readonly label: string | null;
  /** Whether the port can be visited without a token. */
  readonly isPublic: boolean;
}

/** The sandbox of the port, which is valid as long as the resource has the sandbox with this key. */
interface PortOwner {
  readonly place: SandboxPlace;
  readonly key: string;
}

export type OwnedPort = ExposedPort & PortOwner;

/** Rows of exposed ports, deleted with their sandbox. */
export interface ExposedPortRows {
  /**
   * Creates or updates the row of a port; an existing row keeps its name. Null if the sandbox has reached its maximum
   * of exposed ports.
   */
  expose(of: PortOwner, port: ExposedPort, most: number): Promise<ExposedPort | null>;
  /** No error if the port is not exposed. */
  remove(place: SandboxPlace, port: number): Promise<void>;
  /** Sorted by port. */
  list(place: SandboxPlace): Promise<readonly ExposedPort[]>;
  /** Null if no port has this name. */
  find(name: string): Promise<OwnedPort | null>;
}

/** The port as shown to workers. */
interface ExposedPortShown {
  readonly url: string;
  readonly port: number;
  readonly name: string | null;
  readonly auth: 'token' | 'public';
  readonly token?: string;
}

export interface ExposedPorts {
  readonly rows: ExposedPortRows;
  /** Compares a token with that of the port with this name, in constant time. */
  isToken(name: string, given: string): boolean;
  /** The token of the port with this name. */
  tokenOf(name: string): string;
  /**
   * @param template the template for the addresses of visitors: {@link PORT_ORIGIN_HEADER}. @param read reads the
   * arguments; called only once the sandbox is held here.
   */
  answer(
    operation: PortOperation,
    of: { readonly place: SandboxPlace; readonly change: SandboxOptionsChange | null },
    template: unknown,
    read: () => Promise<Fields>,
  ): Promise<unknown>;
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
/** 80 bits: a name cannot be guessed either. */
const NAME_CHARS = 16;

/** @param secret unknown to sandboxes and workers, and the same for all replicas. */
export function createExposedPorts(deps: {
  readonly rows: ExposedPortRows;
  readonly sandboxes: Sandboxes;
  readonly secret: string;
}): ExposedPorts {
  const { rows, sandboxes, secret } = deps;
  const key = createHmac('sha256', secret).update('tokens of exposed ports').digest();
  const tokenOf = (name: string): string => createHmac('sha256', key).update(name).digest('base64url');
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

  function shown({ name, port, label, isPublic }: ExposedPort, template: string): ExposedPortShown {
    return {
      url: `${exposedOrigin(template, name)}/`,
      port,
      name: label,
      auth: isPublic ? 'public' : 'token',
      ...(isPublic ? {} : { token: tokenOf(name) }),
    };
  }

  return {
    rows,
    tokenOf,
    isToken: (name, given) => timingSafeEqual(digest(given), digest(tokenOf(name))),
    async answer(operation, { place, change }, template, read) {
      if (!isPortOrigin(template))
        throw new PlatformError('invalid_argument', {
          reason: `Exposed ports need an address: send the header ${PORT_ORIGIN_HEADER}, for example with https://*.apps.example.net`,
        });
      switch (operation) {
        case 'exposePort': {
          const most = SANDBOX_LIMITS.exposedPortsMax;
          const held = await sandboxes.hold(place, change);
          try {
            const wanted = toExposeArguments(await read());
            const exposed = await rows.expose({ place, key: held.key }, { ...wanted, name: newName() }, most);
            if (exposed === null)
              throw new PlatformError('sandbox_limit', { what: 'Another exposed port of this sandbox', limit: most });
            return shown(exposed, template);
          } finally {
            held.release();
          }
        }
        case 'unexposePort':
          await rows.remove(place, toPort((await read())['port']));
          return null;
        case 'listExposedPorts':
          return (await rows.list(place)).map((port) => shown(port, template));
      }
    },
  };
}

function newName(): string {
  return Array.from(randomBytes(NAME_CHARS), (byte) => ALPHABET[byte & 31]).join('');
}
