// The guest half of an object binding (docs/objects.md): ids, and stubs that reach the only instance with an id, on any
// machine. lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';
import { DurableObjectId, idOfName, isIdOf, uniqueId } from '../lazy/objects/ids.ts';

interface ObjectClass {
  /** The text from which ids of the class are derived. */
  readonly key: string;
  readonly class: string;
  /** Whether the class belongs to another project. */
  readonly isForeign: boolean;
}

/** Statuses of responses that represent errors of the platform, and errors that the object threw. */
const [REFUSED, THREW] = [998, 999];
const NAME_CHARS_MAX = 1024;

const OVERLOADED = 'overloaded';
const MOVED = 'The durable object was replaced by a new version, or moved: get a new stub of it';

/** An error of the platform, as callers of an object see it. */
function failure(code: string, message: string): Error {
  const kind = code === OVERLOADED ? { overloaded: true } : { retryable: true };
  return Object.assign(new Error(message), { code, ...kind, remote: true });
}

function markThrown(error: unknown): void {
  if (typeof error === 'object' && error !== null) Object.assign(error, { remote: true });
}

const errors = {
  thrown: markThrown,
  failed: (error: Error | null): Error =>
    error === null
      ? failure('object_reset', MOVED)
      : failure((error as { readonly code?: string }).code ?? 'internal', error.message),
};

export default function createObjects({ host, fetchThrough, fromJson, toOptions, useModule }: LazyDeps): {
  create(binding: string): object;
} {
  async function answered(response: Promise<unknown>): Promise<Body> {
    const given = (await response) as Body;
    if (given.status < REFUSED) return given;
    const text = await given.text();
    if (given.status === THREW) {
      const { fromStored } = useModule('stored-values');
      const [thrown, fields] = fromJson(text) as [unknown, unknown];
      const error = fromStored(thrown);
      if (typeof error === 'object' && error !== null) Object.assign(error, fromStored(fields));
      markThrown(error);
      throw error;
    }
    const { code, message } = fromJson(text) as { code: string; message: string };
    throw failure(code, message);
  }

  interface Body {
    readonly status: number;
    readonly headers: { get(name: string): string | null };
    text(): Promise<string>;
  }

  class DurableObject {
    readonly id: DurableObjectId;
    readonly name: string | undefined;
    readonly fetch: (input: unknown, init?: unknown) => Promise<unknown>;

    constructor(id: DurableObjectId, address: Readonly<Record<string, string>>) {
      this.id = id;
      this.name = id.name;
      this.fetch = (input, init) => answered(fetchThrough('object.fetch', address, input, init));
    }

    get [Symbol.toStringTag](): string {
      return 'DurableObject';
    }
  }

  /** Any other member of a stub refers to a member of the object. */
  function stubOf(binding: string, id: DurableObjectId): object {
    const address = { binding, id: id.toString(), ...(id.name === undefined ? {} : { name: id.name }) };
    const { memberOf, receiverOf } = useModule('rpc');
    const receiver = receiverOf({ connect: 'object.connect', target: address }, errors);
    return new Proxy(new DurableObject(id, address), {
      get(target, key) {
        if (typeof key === 'symbol' || key in target) return Reflect.get(target, key);
        // Without `then`, a promise resolves to the stub itself, not to the result of a method of this name.
        return key === 'then' ? undefined : memberOf(receiver, key);
      },
      has: (target, key) => typeof key === 'string' || key in target,
    });
  }

  class DurableObjectNamespace {
    readonly #binding: string;
    readonly #jurisdiction: string | undefined;
    #known: ObjectClass | null = null;

    constructor(binding: string, jurisdiction?: string) {
      this.#binding = binding;
      this.#jurisdiction = jurisdiction;
    }

    get #key(): string {
      if (this.#known !== null) return this.#known.key;
      const found = host.callSync('object.class', { binding: this.#binding }) as
        | ObjectClass
        | { readonly failure: { readonly code: string; readonly message: string } };
      if ('failure' in found) throw failure(found.failure.code, found.failure.message);
      // The answer is not cached, because a branch of another project may be created or deleted.
      if (!found.isForeign) this.#known = found;
      return found.key;
    }

    #id(id: string, name?: string): DurableObjectId {
      return new DurableObjectId(id, name, this.#jurisdiction);
    }

    idFromName(name: unknown): DurableObjectId {
      const text = String(name);
      if (text.length > NAME_CHARS_MAX)
        throw new RangeError(`The name of an object has at most ${NAME_CHARS_MAX} characters`);
      return this.#id(idOfName(this.#key, text), text);
    }

    newUniqueId(options?: { jurisdiction?: string }): DurableObjectId {
      const { jurisdiction = this.#jurisdiction } = toOptions('The options of newUniqueId', options);
      return new DurableObjectId(uniqueId(this.#key), undefined, jurisdiction);
    }

    idFromString(id: unknown): DurableObjectId {
      const text = String(id);
      if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new TypeError('Invalid Durable Object ID: must be 64 hex digits');
      if (!isIdOf(this.#key, text.toLowerCase()))
        throw new TypeError('Durable Object ID is not valid for this namespace.');
      return this.#id(text.toLowerCase());
    }

    get(id: unknown): object {
      const text = typeof id === 'object' && id !== null ? String(id) : '';
      if (!isIdOf(this.#key, text)) throw new TypeError('Durable Object ID is not valid for this namespace.');
      return stubOf(this.#binding, id instanceof DurableObjectId ? id : this.#id(text, (id as DurableObjectId).name));
    }

    getByName(name: unknown): object {
      return this.get(this.idFromName(name));
    }

    /** The jurisdiction is stored with ids, but has no other effect: the operator chooses where the machines are. */
    jurisdiction(name?: string): DurableObjectNamespace {
      return new DurableObjectNamespace(this.#binding, name);
    }
  }

  return { create: (binding) => new DurableObjectNamespace(binding) };
}
