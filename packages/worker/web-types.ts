// Names of Web API types, taken from the globals themselves: TypeScript's libraries and Node's types agree on the
// classes and not on these. No code.

/** What `new Headers` takes. */
export type HeadersLike = NonNullable<ConstructorParameters<typeof Headers>[0]>;

/** What `new Response` takes as its body. */
export type BodyLike = NonNullable<ConstructorParameters<typeof Response>[0]>;

/** A key of the Web Crypto API. */
export type SubtleKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
