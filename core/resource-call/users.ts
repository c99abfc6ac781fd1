// Operations on the users of an app.
import type { ById, Nothing, Page } from './arguments.ts';

/** A user of an app. Times are ISO 8601. */
export interface AppUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  readonly createdAt: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A session of a user, without its token. Times are milliseconds since 1970. */
export interface UserSession {
  readonly id: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** Operations on users. */
export interface UserOperations {
  /** Uses the binding of `auth`; takes no `binding`, like the following operations. */
  readonly 'users.list': {
    readonly takes: Page & { readonly email?: string | undefined };
    readonly gives: { readonly users: readonly AppUser[]; readonly cursor: string | null };
  };
  readonly 'users.create': {
    readonly takes: {
      readonly email: string;
      readonly password?: string | undefined;
      readonly name?: string | undefined;
      readonly emailVerified?: boolean | undefined;
      readonly metadata?: Readonly<Record<string, unknown>> | undefined;
    };
    readonly gives: { readonly user: AppUser };
  };
  readonly 'users.delete': { readonly takes: ById; readonly gives: Nothing };
  readonly 'users.sessions': {
    readonly takes: ById;
    /** `methods`: `credential` is a password. */
    readonly gives: { readonly sessions: readonly UserSession[]; readonly methods: readonly string[] };
  };
  readonly 'users.end-session': { readonly takes: ById & { readonly session: string }; readonly gives: Nothing };
  readonly 'users.settings': {
    readonly takes: Nothing;
    readonly gives: { readonly providers: readonly string[]; readonly requiresVerification: boolean };
  };
}
