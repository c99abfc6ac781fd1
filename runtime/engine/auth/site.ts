// The site of an app's sign-in, and what the users of all apps need. Used by users.ts and better-auth.ts.
import type { DatabaseStore } from '../bindings/database.ts';
import type { HostWork } from '../work/host-work.ts';

/** An e-mail to a user. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** What users are made of. */
export interface UsersParts {
  readonly databases: DatabaseStore;
  /** Hashes passwords. */
  readonly work: HostWork;
  /** Signs sessions: each project gets a key of its own from it. */
  readonly secret: Uint8Array;
  /** Of all sites. */
  readonly protocol: 'http' | 'https';
  readonly sendMail: (mail: Mail) => Promise<void>;
  /** E-mails reach people: then addresses are confirmed by them, unless a project says otherwise. */
  readonly deliversMail: boolean;
  readonly log: (level: 'warn' | 'error', message: string) => void;
  /** N of scrypt; better-auth's own by default. Tests hash many passwords, and have less. */
  readonly passwordCost?: number;
}

/** An app as its visitors see it. */
export interface AuthSite {
  readonly namespace: string;
  /** Such as `https://shop.example.org`: in e-mails, and where providers send visitors back to. */
  readonly origin: string;
  /** Where the request says it was sent to, when that is another: its pages may ask as well. */
  readonly askedAt?: string;
  /**
   * Variables of the project: `AUTH_<PROVIDER>_CLIENT_ID` and `_CLIENT_SECRET` switch providers on,
   * `AUTH_REQUIRE_VERIFICATION=true` the check of addresses.
   */
  readonly vars: Readonly<Record<string, string>>;
}

/** Passwords of one project that requests wait for; whose turn it is. */
export interface PasswordQueue {
  waiting: number;
}

/**
 * What the names of a site's cookies begin with. Over https browsers take such a cookie from its own host alone: no
 * neighbour's page can set it.
 */
export function cookiePrefix(origin: string): string {
  return origin.startsWith('https:') ? '__Host-platform' : 'platform';
}

/** The sign-in providers that a project has keys of. */
export function providersOf(
  vars: Readonly<Record<string, string>>,
): Record<string, { clientId: string; clientSecret: string }> {
  const providers: Record<string, { clientId: string; clientSecret: string }> = {};
  for (const [name, clientId] of Object.entries(vars)) {
    const [, provider] = /^AUTH_([A-Z]+)_CLIENT_ID$/.exec(name) ?? [];
    const clientSecret = provider === undefined ? undefined : vars[`AUTH_${provider}_CLIENT_SECRET`];
    if (provider !== undefined && clientSecret !== undefined)
      providers[provider.toLowerCase()] = { clientId, clientSecret };
  }
  return providers;
}
