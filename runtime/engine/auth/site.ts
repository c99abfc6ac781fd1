// The site of an app's sign-in, and shared dependencies of users. Used by users.ts and better-auth.ts.
import type { DatabaseStore } from '../bindings/database.ts';
import type { HostWork } from '../work/host-work.ts';

/** An email to a user. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Dependencies of users. */
export interface UsersDeps {
  readonly databases: DatabaseStore;
  /** Hashes passwords. */
  readonly work: HostWork;
  /** The secret from which each project's key for signing sessions is derived. */
  readonly secret: Uint8Array;
  /** The protocol of all sites. */
  readonly protocol: 'http' | 'https';
  readonly sendMail: (mail: Mail, namespace: string) => Promise<void>;
  /**
   * Whether emails are delivered. If so, addresses are verified by email, unless a project disables it. The value may
   * change.
   */
  readonly deliversMail: () => Promise<boolean>;
  readonly log: (level: 'warn' | 'error', message: string) => void;
  /** The parameter N of scrypt; better-auth's default if absent. Tests hash many passwords, so they set it lower. */
  readonly passwordCost?: number;
}

/** An app as its visitors see it. */
export interface AuthSite {
  readonly namespace: string;
  /** For example `https://shop.example.org`: used in emails, and for redirects from providers. */
  readonly origin: string;
  /** The origin of the request, if it is different; pages of that origin can call these routes as well. */
  readonly askedAt?: string;
  /**
   * Variables of the project: `AUTH_<PROVIDER>_CLIENT_ID` and `_CLIENT_SECRET` enable providers, and
   * `AUTH_REQUIRE_VERIFICATION=true` enables the verification of addresses.
   */
  readonly vars: Readonly<Record<string, string>>;
}

/** Number of pending password operations of one project; the object is also the project's key in the fair queue. */
export interface PasswordQueue {
  waiting: number;
}

/**
 * Prefix of a site's cookie names. Over https, browsers accept such a cookie only from its own host, so no neighbor's
 * page can set it.
 */
export function cookiePrefix(origin: string): string {
  return origin.startsWith('https:') ? '__Host-platform' : 'platform';
}

/** The sign-in providers for which a project has keys. */
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
