// What a provider of hosted machines has to do for backend.ts. provider-api.ts speaks to one over HTTPS; another
// provider is another implementation of this, and nothing else changes. Types only.
import type { Duplex } from 'node:stream';

/** `starting` becomes `running` by itself. `suspended` keeps memory and files, `stopped` files alone. */
export type ProviderState = 'starting' | 'running' | 'suspended' | 'stopped';

/** A machine of the organization. */
export interface ProviderMachine {
  readonly id: string;
  readonly name: string;
  readonly machineType: string;
  readonly state: ProviderState;
}

/** What the key may do that the service was given (`HOSTED_API_KEY`). */
export interface ProviderKey {
  /** Whether it is limited to actions at all. */
  readonly isScoped: boolean;
  readonly actions: readonly string[];
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

/** What a machine is made of. */
export interface ProviderMachineSpec {
  readonly name: string;
  readonly template: string | null;
  readonly machineType: string;
  /** Archived by the provider so long after its start; 0: never. */
  readonly ttlSeconds: number;
}

/** Failures are {@link ProviderError}s. */
export interface HostedProvider {
  key(): Promise<ProviderKey>;
  /** The snapshot that a template starts from now. */
  templateSnapshot(template: string): Promise<string>;
  machineTypes(): Promise<readonly string[]>;
  /** Machines whose names begin so. */
  list(prefix: string): Promise<readonly ProviderMachine[]>;
  create(spec: ProviderMachineSpec): Promise<ProviderMachine>;
  read(id: string): Promise<ProviderMachine>;
  /** Of a stopped one, for its next start. */
  update(id: string, changes: { readonly machineType: string }): Promise<void>;
  resume(id: string, ttlSeconds: number): Promise<void>;
  stop(id: string, keepsMemory: boolean): Promise<void>;
  /** No error where there is none. */
  remove(id: string): Promise<void>;
  writeFile(id: string, path: string, bytes: Uint8Array): Promise<void>;
  /** Starts a program; what is written goes to its input, what is read is its output. Ends with it. */
  exec(id: string, command: readonly string[]): Promise<Duplex>;
}

/** What a provider answered, or that it did not. */
export class ProviderError extends Error {
  /** 0: there was no answer, or none that could be read. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ProviderError';
    this.status = status;
  }
}
