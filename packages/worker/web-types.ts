// Names of Web API types, derived from the globals themselves: TypeScript's libraries and Node's types agree on the
// classes but not on these. No code.

/** Argument of `new Headers`. */
export type HeadersLike = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** Body argument of `new Response`. */
export type BodyLike = NonNullable<ConstructorParameters<typeof Response>[0]>;

/** A key of the Web Crypto API. */
export type SubtleKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
