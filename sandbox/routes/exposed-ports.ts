// Ports of sandboxes that have an address of their own, for the service's routes: given, taken back and listed. Rows
// say which there are; what a port's token is follows from its name, so that nobody has to keep it.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '#core/errors.ts';
import { toExposeArguments, toPort, type Fields } from '#core/sandbox/arguments.ts';
import { exposedOrigin, isPortOrigin, PORT_ORIGIN_HEADER } from '#core/sandbox/exposed-port.ts';
import { SANDBOX_BOUNDS } from '#core/sandbox/call-limits.ts';
import { type PortOperation, type SandboxPlace } from '#core/sandbox/operations.ts';
import type { SandboxOptionsChange } from '#core/sandbox/options.ts';
import type { Sandboxes } from './held-sandboxes.ts';

/** A port of a sandbox with an address. */
export interface ExposedPort {
  /** In its host: random, and never another port's. */
  readonly name: string;
  readonly port: number;
  /** What the worker calls it; null: nothing. */
  readonly label: string | null;
  /** Whether no token is wanted. */
  readonly isPublic: boolean;
}

/** The sandbox whose port it is: of this place, and while it is the one with this key. */
export interface PortOwner {
  readonly place: SandboxPlace;
  readonly key: string;
}

export type OwnedPort = ExposedPort & PortOwner;

/** Rows of them, gone with their sandbox. */
export interface ExposedPortRows {
  /** The row of a port of a sandbox: it keeps its name, and gets the rest. Null: the sandbox has as many as it may. */
  expose(of: PortOwner, port: ExposedPort, most: number): Promise<ExposedPort | null>;
  /** No error where it is not exposed. */
  remove(place: SandboxPlace, port: number): Promise<void>;
  /** By port. */
  list(place: SandboxPlace): Promise<readonly ExposedPort[]>;
  /** Null: there is none of this name. */
  find(name: string): Promise<OwnedPort | null>;
}

/** What a worker sees of one. */
interface ExposedPortShown {
  readonly url: string;
  readonly port: number;
  readonly name: string | null;
  readonly auth: 'token' | 'public';
  readonly token?: string;
}

export interface ExposedPorts {
  readonly rows: ExposedPortRows;
  /** Whether a text is the token of the port with this name, in constant time. */
  isToken(name: string, given: string): boolean;
  /** The token of the port with this name. */
  tokenOf(name: string): string;
  /**
   * @param template where the caller's visitors come: {@link PORT_ORIGIN_HEADER}. @param read the arguments: only once
   *   the sandbox is held here.
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

/** @param secret that no sandbox and no worker has; the same for all replicas. */
export function createExposedPorts(parts: {
  readonly rows: ExposedPortRows;
  readonly sandboxes: Sandboxes;
  readonly secret: string;
}): ExposedPorts {
  const { rows, sandboxes, secret } = parts;
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
          reason: `Ports have no addresses here: the header ${PORT_ORIGIN_HEADER} has to say where they are visited, such as https://*.apps.example.net`,
        });
      switch (operation) {
        case 'exposePort': {
          const most = SANDBOX_BOUNDS.exposedPortsMax;
          const held = await sandboxes.hold(place, change);
          try {
            const wanted = toExposeArguments(await read());
            const exposed = await rows.expose({ place, key: held.key }, { ...wanted, name: newName() }, most);
            if (exposed === null)
              throw new PlatformError('sandbox_limit', { what: 'One more exposed port of this sandbox', limit: most });
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
