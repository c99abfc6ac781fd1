// Interface of a provider of hosted machines. provider-api.ts implements it over HTTPS; other providers only need
// another implementation. Types only.
import type { Duplex } from 'node:stream';

/**
 * `starting` becomes `running` by itself. `suspended` machines keep their memory and files, `stopped` machines keep
 * only their files.
 */
export type ProviderState = 'starting' | 'running' | 'suspended' | 'stopped';

/** A machine of the organization. */
export interface ProviderMachine {
  readonly id: string;
  readonly name: string;
  readonly machineType: string;
  readonly state: ProviderState;
}

/** Permissions of the service's key (`HOSTED_API_KEY`). */
export interface ProviderKey {
  /** Whether the key is restricted to certain actions. */
  readonly isScoped: boolean;
  readonly actions: readonly string[];
  /** Milliseconds since 1970; null if never. */
  readonly expiresAt: number | null;
}

/** Specification of a machine. */
interface ProviderMachineSpec {
  readonly name: string;
  readonly template: string | null;
  readonly machineType: string;
  /** Seconds after the start when the provider archives it; with 0, it is never archived. */
  readonly ttlSeconds: number;
}

/** All methods throw a failure `sandbox_provider`. */
export interface HostedProvider {
  key(): Promise<ProviderKey>;
  /** The current snapshot of a template. */
  templateSnapshot(template: string): Promise<string>;
  machineTypes(): Promise<readonly string[]>;
  /** Machines with this name prefix. */
  list(prefix: string): Promise<readonly ProviderMachine[]>;
  create(spec: ProviderMachineSpec): Promise<ProviderMachine>;
  read(id: string): Promise<ProviderMachine>;
  /** Changes a stopped machine, for its next start. */
  update(id: string, changes: { readonly machineType: string }): Promise<void>;
  resume(id: string, ttlSeconds: number): Promise<void>;
  stop(id: string, keepsMemory: boolean): Promise<void>;
  /** No error if the machine does not exist. */
  remove(id: string): Promise<void>;
  writeFile(id: string, path: string, bytes: Uint8Array): Promise<void>;
  /** Starts a program, connected to its input and output. The stream ends with the program. */
  exec(id: string, command: readonly string[]): Promise<Duplex>;
}
