// The guest half of pools (docs/sockets.md): what a client needs to connect to a pool. Host and password are generated,
// and work only in this isolate. lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

/** Name of the account and of the database that clients are given. */
const NAME = 'hyperdrive';
const PORT = 5432;

export default function createHyperdrive({ host: { randomFill }, useModule }: LazyDeps): {
  create(name: string): object;
} {
  const hex = (): string => {
    const bytes = new Uint8Array(16);
    randomFill(bytes);
    let text = '';
    for (let at = 0; at < 16; at++) text += (bytes[at]! + 256).toString(16).slice(1);
    return text;
  };
  let made = 0;

  class Hyperdrive {
    readonly #host: string;
    readonly #ip: string;
    readonly #password: string;

    constructor(binding: string) {
      made++;
      this.#host = `${hex()}.hyperdrive.local`;
      this.#ip = `240.0.${made >> 8}.${made & 255}`;
      this.#password = hex();
      const { addPool } = useModule('tcp');
      addPool(this.#host, binding);
      addPool(this.#ip, binding);
    }

    get host(): string {
      return this.#host;
    }
    get ip(): string {
      return this.#ip;
    }
    get port(): number {
      return PORT;
    }
    get user(): string {
      return NAME;
    }
    get password(): string {
      return this.#password;
    }
    get database(): string {
      return NAME;
    }
    get connectionString(): string {
      return `postgresql://${NAME}:${this.#password}@${this.#host}:${PORT}/${NAME}?sslmode=disable`;
    }
    connect(): object {
      return useModule('tcp').connect({ hostname: this.#host, port: PORT });
    }
  }
  Object.defineProperty(Hyperdrive.prototype, Symbol.toStringTag, { value: 'Hyperdrive', configurable: true });

  return { create: (name) => new Hyperdrive(name) };
}
