// What the Git host of tests holds. Types only.
import type { KeyObject } from 'node:crypto';

/** Somebody who has an account there. */
export interface HostUser {
  readonly id: number;
  readonly login: string;
  readonly name: string;
  readonly email: string;
}

/** A repository there. */
export interface HostedRepository {
  readonly id: number;
  /** `owner/name`; a test that renames it changes it. */
  fullName: string;
  /** The bare repository. */
  readonly folder: string;
  readonly installationId: number;
  defaultBranch: string;
  isPrivate: boolean;
  isArchived: boolean;
  /** Logins that may push to it; everybody else who sees the installation may read. */
  readonly pushers: Set<string>;
  readonly statuses: { readonly sha: string; readonly state: string; readonly [field: string]: unknown }[];
  readonly comments: { readonly id: number; readonly number: number; body: string }[];
}

/** An installation of the application. */
export interface HostedInstallation {
  readonly id: number;
  readonly account: string;
  readonly permissions: Record<string, string>;
  /** Logins that may use it. */
  readonly users: Set<string>;
  isSuspended: boolean;
}

/** A token that the host gave out. */
export interface HostToken {
  readonly login?: string;
  readonly installationId?: number;
  readonly repositoryIds?: readonly number[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly expiresAt: number;
}

/** What the host holds; tests may change it. */
export interface HostState {
  readonly root: string;
  readonly publicKey: KeyObject;
  readonly settings: TestGitHostSettings;
  readonly users: Map<string, HostUser>;
  readonly installations: Map<number, HostedInstallation>;
  readonly repositories: HostedRepository[];
  readonly tokens: Map<string, HostToken>;
  /** Manifests of created applications, by the code that gives their credentials once. */
  readonly manifests: Map<string, Record<string, unknown>>;
  /** Fields in which the credentials of the next created application differ. */
  created: Record<string, unknown>;
  /** Codes of sign-in, until they are exchanged. */
  readonly codes: Map<string, { readonly login: string; readonly challenge: string | null; readonly redirect: string }>;
  /** Requests of the REST API, as `GET /app`. */
  readonly requests: string[];
  /** Permissions and events that the application asks for. */
  app: { permissions: Record<string, string>; events: string[] };
  /** Who is signed in in the browser that comes to be asked. */
  signedIn: string | null;
  /** Statuses with which the next requests of the REST API fail; an entry may be a whole answer. */
  readonly failures: (number | { readonly status: number; readonly headers: Record<string, string> })[];
  /** Where deliveries go when somebody pushes; null: nowhere. */
  webhookUrl: string | null;
  /** Deliveries that were sent, and the status that came back. */
  readonly deliveries: { readonly event: string; readonly status: number }[];
}

export interface TestGitHostSettings {
  readonly appId: string;
  /** PEM. */
  readonly privateKey: string;
  readonly webhookSecret: string;
  readonly clientId: string;
  readonly clientSecret: string;
}
