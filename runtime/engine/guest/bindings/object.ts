// The guest half of an object binding (docs/objects.md): ids, and stubs that reach the one instance with an id,
// wherever it lives. A module of lazy.ts.
import type { LazyDeps } from '../lazy.ts';
import { DurableObjectId, idOfName, isIdOf, uniqueId } from '../lazy/objects/ids.ts';

interface ObjectClass {
  /** What ids of the class are made of. */
  readonly key: string;
  readonly class: string;
}

/** Statuses of responses that stand for errors: of the platform, and thrown by the object. */
const [REFUSED, THREW] = [998, 999];
/** Content type of what a method returned. */
const VALUE_TYPE = 'application/x-platform-value';
const NAME_CHARS_MAX = 1024;

export default function createObjects({ host, fetchThrough, fromJson, toJson, useModule }: LazyDeps): {
  create(binding: string): object;
} {
  async function answered(response: Promise<unknown>): Promise<Body> {
    const given = (await response) as Body;
    if (given.status < REFUSED) return given;
    const text = await given.text();
    let error: unknown;
    if (given.status === THREW) {
      const { fromStored } = useModule('stored-values');
      const [thrown, fields] = fromJson(text) as [unknown, unknown];
      error = fromStored(thrown);
      if (typeof error === 'object' && error !== null) Object.assign(error, fromStored(fields));
    } else {
      const { code, message } = fromJson(text) as { code: string; message: string };
      error = Object.assign(new Error(message), {
        code,
        ...(code === 'overloaded' ? { overloaded: true } : { retryable: true }),
      });
    }
    if (typeof error === 'object' && error !== null) Object.assign(error, { remote: true });
    throw error;
  }

  interface Body {
    readonly status: number;
    readonly headers: { get(name: string): string | null };
    text(): Promise<string>;
  }

  class DurableObjectStub {
    readonly #address: Record<string, string>;
    readonly id: DurableObjectId;
    readonly name: string | undefined;

    constructor(binding: string, id: DurableObjectId) {
      this.id = id;
      this.name = id.name;
      this.#address = { binding, id: id.toString(), ...(id.name === undefined ? {} : { name: id.name }) };
    }

    fetch(input: unknown, init?: unknown): Promise<unknown> {
      return answered(fetchThrough('object.fetch', { ...this.#address, op: 'fetch' }, input, init));
    }

    static async call(stub: DurableObjectStub, member: string, args: readonly unknown[]): Promise<unknown> {
      const { toStored, fromStored } = useModule('stored-values');
      const init = { method: 'POST', body: toJson(toStored(args)) };
      const address = { ...stub.#address, op: 'call', member };
      const response = await answered(fetchThrough('object.fetch', address, 'http://object/', init));
      // A response that the method returned.
      if (response.headers.get('content-type') !== VALUE_TYPE) return response;
      return fromStored((fromJson(await response.text()) as [unknown])[0]);
    }
  }

  /** Every other member of a stub is a method of the object. */
  function stubOf(binding: string, id: DurableObjectId): object {
    const stub = new DurableObjectStub(binding, id);
    const fetch = stub.fetch.bind(stub);
    return new Proxy(stub, {
      get(target, member) {
        if (member === 'fetch') return fetch;
        if (member === 'id' || member === 'name') return target[member];
        // A promise resolves to the stub itself, not to what a method of this name answers.
        if (typeof member === 'symbol' || member === 'then') return undefined;
        return (...args: unknown[]) => DurableObjectStub.call(target, member, args);
      },
      has: (target, member) => typeof member === 'string' || member in target,
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
      this.#known ??= host.callSync('object.class', { binding: this.#binding }) as ObjectClass;
      return this.#known.key;
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
      return new DurableObjectId(uniqueId(this.#key), undefined, options?.jurisdiction ?? this.#jurisdiction);
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

    /** Taken and kept with ids: your machines are where you put them. */
    jurisdiction(name?: string): DurableObjectNamespace {
      return new DurableObjectNamespace(this.#binding, name);
    }
  }

  return { create: (binding) => new DurableObjectNamespace(binding) };
}
