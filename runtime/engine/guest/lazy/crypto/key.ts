// CryptoKey: the guest's handle of a key on the host. The material of a non-extractable key never enters the isolate,
// except that an imported key keeps its import arguments, so that the host may evict it and request it again.
import { registerCloneSteps } from '../../web/clone-steps.ts';
import { finishInterface, internal } from '../../web/webidl.ts';

/** The arguments with which a key can be imported again. */
interface KeyRecipe {
  readonly args: Readonly<Record<string, unknown>>;
  readonly parts: readonly Uint8Array[];
}

/** The host's description of a key. */
export interface KeyDescription {
  readonly handle: number;
  readonly type: 'public' | 'private' | 'secret';
  readonly extractable: boolean;
  readonly algorithm: Record<string, unknown>;
  readonly usages: readonly string[];
}

/** The mutable link to the key on the host, shared by clones of a CryptoKey. */
export interface KeyLink {
  handle: number;
  readonly recipe: KeyRecipe | null;
}

export let createCryptoKey: (description: KeyDescription, recipe: KeyRecipe | null) => CryptoKey;
export let linkOf: (key: CryptoKey) => KeyLink;
export let isCryptoKey: (value: unknown) => value is CryptoKey;

export class CryptoKey {
  #link: KeyLink = { handle: 0, recipe: null };
  #type: KeyDescription['type'] = 'secret';
  #extractable = false;
  #algorithm: Record<string, unknown> = {};
  #usages: readonly string[] = [];

  constructor(token: unknown = undefined) {
    if (token !== internal) throw new TypeError('Illegal constructor');
  }
  get type(): KeyDescription['type'] {
    return this.#type;
  }
  get extractable(): boolean {
    return this.#extractable;
  }
  get algorithm(): Record<string, unknown> {
    return this.#algorithm;
  }
  get usages(): readonly string[] {
    return this.#usages;
  }

  static {
    isCryptoKey = (value): value is CryptoKey => typeof value === 'object' && value !== null && #link in value;
    linkOf = (key) => key.#link;
    createCryptoKey = (description, recipe) => {
      const key = new CryptoKey(internal);
      key.#link = { handle: description.handle, recipe };
      key.#type = description.type;
      key.#extractable = description.extractable;
      key.#algorithm = toAlgorithm(description.algorithm);
      key.#usages = [...description.usages];
      return key;
    };
    registerCloneSteps({
      clone(value) {
        if (!isCryptoKey(value)) return undefined;
        const copy = new CryptoKey(internal);
        copy.#link = value.#link;
        copy.#type = value.#type;
        copy.#extractable = value.#extractable;
        copy.#algorithm = value.#algorithm;
        copy.#usages = value.#usages;
        return copy;
      },
    });
  }
}
finishInterface(CryptoKey);

/** The public exponent of an RSA key is sent as a list of numbers. */
function toAlgorithm(algorithm: Record<string, unknown>): Record<string, unknown> {
  const { publicExponent } = algorithm;
  return Array.isArray(publicExponent)
    ? { ...algorithm, publicExponent: new Uint8Array(publicExponent as number[]) }
    : algorithm;
}
